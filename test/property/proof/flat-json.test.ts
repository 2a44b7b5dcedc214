import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { flatField } from '../../../src/proof/flat-json.ts';

const FIELD = 'source';
const QUOTED = JSON.stringify(FIELD);

/** What `JSON.parse` says of a text: the JSON of the field, null where an object lacks it, undefined for anything else. */
function byParser(text: string): { value: unknown } | null | undefined {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  return Object.hasOwn(object, FIELD) ? { value: (object as Record<string, unknown>)[FIELD] } : null;
}

/** Where it answers at all, the fast reader says what the parser says. Returns whether it answered. */
function agrees(text: string): boolean {
  const found = flatField(text, QUOTED);
  if (found === undefined) return false;
  const expected = byParser(text);
  expect(expected, text).not.toBeUndefined();
  expect(found === null ? null : { value: JSON.parse(found) }, text).toEqual(expected);
  return true;
}

const name = fc.oneof(fc.constant(FIELD), fc.constantFrom('a', 'sourc', 'sources', '', '값'), fc.string());
const scalar = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const spaces = fc.constantFrom('', '', ' ', '  ', '\n');
/** Members may be there twice; the spaces stand before, between and behind. */
const objectText = fc
  .tuple(fc.array(fc.tuple(name, fc.oneof(scalar, fc.object({ maxDepth: 1 })))), spaces, spaces, spaces)
  .map(([members, a, b, c]) => {
    const inner = members.map(([key, value]) => `${JSON.stringify(key)}${a}:${b}${JSON.stringify(value)}`);
    return `{${c}${inner.join(`${a},${b}`)}${a}}${c}`;
  });

describe('flatField', () => {
  it('agrees with JSON.parse on objects', () => {
    fc.assert(
      fc.property(objectText, (text) => void agrees(text)),
      { numRuns: 2_000 },
    );
  });

  it('agrees with JSON.parse on texts that were damaged in one place', () => {
    const damage = fc.constantFrom(
      '',
      '"',
      '{',
      '}',
      ',',
      ':',
      '\\',
      '0',
      '-',
      '.',
      'e',
      't',
      ' ',
      '\u0001',
      '[',
    );
    const damaged = fc.tuple(objectText, fc.nat(), fc.nat({ max: 2 }), damage).map(([text, at, cut, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    });
    fc.assert(
      fc.property(damaged, (text) => void agrees(text)),
      { numRuns: 5_000 },
    );
  });

  it('agrees with JSON.parse on short texts of its alphabet', () => {
    const texts = fc
      .array(
        fc.constantFrom(
          '{',
          '}',
          '"source"',
          '"a"',
          ':',
          ',',
          '1',
          '-0',
          '01',
          '1.',
          '.5',
          '2.50',
          '1e3',
          'true',
          'nul',
          'null',
          ' ',
          '"',
        ),
      )
      .map((parts) => `{${parts.join('')}`);
    fc.assert(
      fc.property(texts, (text) => void agrees(text)),
      { numRuns: 5_000 },
    );
  });

  it('answers for plain objects itself', () => {
    expect(flatField('{"a":1,"source":"criteo","b":-0.5}', QUOTED)).toBe('"criteo"');
    expect(flatField('{ "source" : 9007199254740993 , "b" : null } ', QUOTED)).toBe('9007199254740993');
    expect(flatField('{"source":1,"source":2}', QUOTED)).toBe('2');
    expect(flatField('{"a":"source","sources":true}', QUOTED)).toBeNull();
    expect(agrees('{"source":"값"}')).toBe(true);
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"a":{}}',
    '{"a":"\\n"}',
    '{"a":1',
    '{"a":1}x',
    '{"a":01}',
    '{"a":1e5}',
    '{"a":+1}',
  ])('leaves %j to the parser', (text) => {
    expect(flatField(text, QUOTED)).toBeUndefined();
  });
});
