/** The JSON decoder against a plain model of its rules: random schemas and documents, and documents with bytes changed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IcebergType, NestedField } from '../../../src/core/schema.ts';
import { createJsonDecoder } from '../../../src/decode/json/json-decoder.ts';
import { modelPermissiveRow, modelRow } from '../../support/decode/json-model.ts';
import { decodeWith, JSON_FORMAT } from '../../support/decode/json-rows.ts';
import { THOROUGH } from '../../support/thorough.ts';

const runs = (quick: number, thorough: number) => ({ numRuns: THOROUGH ? thorough : quick });
const TIMEOUT_MS = THOROUGH ? 1_200_000 : 120_000;

/** Codes of texts that are no JSON; which of them is told of a text with several faults is left open. */
const NOT_JSON = ['INVALID_JSON', 'INVALID_UTF8', 'TOO_DEEP'];

const primitive = fc.constantFrom<IcebergType>(
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'string',
  'uuid',
  'binary',
  'fixed[3]',
  'fixed[16]',
  'decimal(5, 2)',
  'decimal(9, 0)',
  'decimal(16, 4)',
  'decimal(18, 18)',
  'decimal(38, 10)',
  'decimal(20, 3)',
);
const name = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'id',
    'name',
    'event_time',
    'a_rather_long_name_of_a_column',
    'ключ',
    '字',
    'q"\\',
    '',
  ),
  fc.string({ unit: 'binary', maxLength: 14 }).filter((s) => s.isWellFormed()),
);

const { type } = fc.letrec<{ type: IcebergType }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 6, arbitrary: primitive },
    { weight: 1, arbitrary: fieldsOf(tie('type'), 3).map((fields) => ({ type: 'struct' as const, fields })) },
    {
      weight: 1,
      arbitrary: fc
        .record({ element: tie('type'), elementRequired: fc.boolean() })
        .map((list) => ({ type: 'list' as const, elementId: 0, ...list })),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({
          key: fc.constantFrom<IcebergType>('string', 'string', 'int', 'long', 'date'),
          value: tie('type'),
          valueRequired: fc.boolean(),
        })
        .map((map) => ({ type: 'map' as const, keyId: 0, valueId: 0, ...map })),
    },
  ),
}));

function fieldsOf(type: fc.Arbitrary<IcebergType>, maxLength: number): fc.Arbitrary<NestedField[]> {
  const field = fc.record({
    id: fc.constant(0),
    name,
    required: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    type,
  });
  return fc.uniqueArray(field, { minLength: 1, maxLength, selector: (f) => f.name });
}

const space = fc.oneof({ weight: 5, arbitrary: fc.constant('') }, fc.constantFrom(' ', '\n', '\t\r\n  '));
const string = fc.oneof(
  fc.constantFrom('', 'x', 'a "quoted" \\ text/', 'žluťoučký', '😀 𝄞', 'tab\tnewline\nnul\0', 'x'.repeat(70)),
  fc.string({ unit: 'binary', maxLength: 30 }).filter((s) => s.isWellFormed()),
  fc.string({ maxLength: 30 }),
);

/** A string as JSON, some of its characters escaped that need not be. */
const stringJson = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.integer({ min: 0, max: 6 })).map(([t, nth]) => {
    if (nth === 0)
      return (
        [...new Array(t.length).keys()]
          .map((i) => `\\u${t.charCodeAt(i).toString(16).padStart(4, '0')}`)
          .reduce((a, b) => a + b, '"') + '"'
      );
    const json = JSON.stringify(t);
    return nth === 1 ? json.replaceAll('/', '\\/') : json;
  });

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max });
const numberJson = fc
  .tuple(
    fc.constantFrom('', '', '-'),
    fc
      .oneof(
        fc.constantFrom(
          '0',
          '9223372036854775807',
          '9223372036854775808',
          '2147483648',
          '2147483647',
          '1784000106123',
        ),
        digits(9),
        digits(21),
      )
      .map((d) => d.replace(/^0+(?=.)/, '')),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      fc.oneof(
        fc.constantFrom('.0', '.5', '.00'),
        digits(18).map((d) => `.${d}`),
      ),
    ),
    fc.oneof(
      { weight: 5, arbitrary: fc.constant('') },
      fc.constantFrom(
        'e0',
        'E+2',
        'e-2',
        'e5',
        'e-10',
        'e18',
        'e37',
        'e308',
        'e400',
        'e-400',
        'e999999999999',
        'e-99999999999999',
      ),
    ),
  )
  .map((parts) => parts.join(''));

const two = (max: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(2, '0'));
const dateText = fc
  .tuple(
    fc.oneof(
      fc.constantFrom('0001', '0000', '1969', '1970', '2000', '2024', '1900', '9999', '1677', '2262'),
      fc.integer({ min: 0, max: 9999 }).map((n) => String(n).padStart(4, '0')),
    ),
    two(13),
    two(32),
  )
  .map((parts) => parts.join('-'));
const timeText = fc
  .tuple(two(24), two(60), fc.option(two(60)), fc.option(digits(12)))
  .map(([h, m, s, f]) => `${h}:${m}${s === null ? '' : `:${s}${f === null ? '' : `.${f}`}`}`);
const zoneText = fc.oneof(
  fc.constantFrom(
    '',
    '',
    'Z',
    'Z',
    '+00:00',
    '-18:00',
    '+1800',
    '+05',
    '-03:30',
    '+18:01',
    '+05:60',
    'z',
    '+5',
  ),
  fc.tuple(fc.constantFrom('+', '-'), two(19), fc.constantFrom('', ':'), two(61)).map((p) => p.join('')),
);
const goodTimestamp = fc
  .tuple(
    fc.date({
      min: new Date('0001-01-02T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    }),
    digits(11),
    fc.constantFrom('T', ' '),
    fc.constantFrom('Z', '', '+05:30', '-0800', '+01'),
  )
  .map(
    ([d, f, t, z]) =>
      `${d.toISOString().slice(-24, -14).padStart(10, '0')}${t}${d.toISOString().slice(-13, -5)}.${f}${z}`,
  );
const timestampText = fc.oneof(
  goodTimestamp,
  fc.tuple(dateText, fc.constantFrom('T', ' ', 't', ''), timeText, zoneText).map((p) => p.join('')),
);
const base64Text = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((b) => Buffer.from(b).toString('base64')),
  fc.uint8Array({ minLength: 3, maxLength: 3 }).map((b) => Buffer.from(b).toString('base64')),
  fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((b) => Buffer.from(b).toString('base64').replace(/=/g, '')),
  fc.constantFrom('A', 'A===', 'AB==', 'A-_x', '=', '====', 'AQ=', 'AQ=='),
);

/** Any JSON. */
const anyJson = fc.oneof(
  fc.json({ maxDepth: 3 }),
  numberJson,
  stringJson(string),
  fc.constantFrom('null', 'true', '{}', '[]', '{"a":{"a":[null,{}]}}', '[[[[[[1]]]]]]'),
);

/** JSON that mostly fits a type. */
function jsonOf(type: IcebergType): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 24, arbitrary: fittingJson(type) },
    { weight: 2, arbitrary: fc.constant('null') },
    { weight: 1, arbitrary: anyJson },
  );
}

function fittingJson(type: IcebergType): fc.Arbitrary<string> {
  if (typeof type !== 'string') {
    if (type.type === 'struct') return objectJson(type.fields);
    if (type.type === 'list')
      return fc.array(spaced(jsonOf(type.element)), { maxLength: 4 }).map((items) => `[${items.join(',')}]`);
    const key =
      type.key === 'string'
        ? string
        : type.key === 'date'
          ? dateText
          : fc.oneof(fc.constantFrom('1', '-5', '0', '01', '-0', '99999999999'), digits(10));
    return fc
      .array(fc.tuple(spaced(stringJson(key)), spaced(jsonOf(type.value))), {
        maxLength: type.key === 'int' ? 20 : 5,
      })
      .map((entries) => `{${entries.map((e) => e.join(':')).join(',')}}`);
  }
  switch (type) {
    case 'boolean':
      return fc.constantFrom('true', 'false');
    case 'int':
      return fc.oneof(fc.integer().map(String), numberJson);
    case 'long':
      return fc.oneof(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
        fc.maxSafeInteger().map(String),
        numberJson,
      );
    case 'float':
    case 'double':
      return fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
        numberJson,
      );
    case 'date':
      return stringJson(dateText);
    case 'time':
      return stringJson(timeText);
    case 'string':
      return stringJson(string);
    case 'uuid':
      return stringJson(fc.uuid());
    default:
      if (type.startsWith('timestamp'))
        return fc.oneof(
          { weight: 4, arbitrary: stringJson(timestampText) },
          { weight: 1, arbitrary: numberJson },
        );
      if (type.startsWith('decimal'))
        return fc.oneof(
          numberJson,
          fc.tuple(fc.integer({ min: -999, max: 999 }), digits(4)).map(([n, f]) => `${n}.${f}`),
        );
      return stringJson(base64Text);
  }
}

function spaced(json: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(space, json, space).map((parts) => parts.join(''));
}

function objectJson(fields: readonly NestedField[]): fc.Arbitrary<string> {
  const member = (f: NestedField) =>
    fc.tuple(spaced(stringJson(fc.constant(f.name))), spaced(jsonOf(f.type))).map((m) => m.join(':'));
  const known = fc.tuple(
    ...fields.map((f) => fc.option(member(f), { freq: f.required ? 30 : 8, nil: undefined })),
  );
  const unknown = fc.array(
    fc.tuple(spaced(stringJson(name)), spaced(anyJson)).map((m) => m.join(':')),
    { maxLength: 1 },
  );
  const again = fc.array(fc.constantFrom(...fields).chain(member), { maxLength: 1 });
  return fc
    .tuple(
      known,
      unknown,
      fc.option(again, { freq: 4, nil: [] }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      fc.integer({ min: 0, max: 3 }),
    )
    .map(([k, u, a, order, shuffle]) => {
      const members = [...k.filter((m) => m !== undefined), ...u, ...a];
      const sorted =
        shuffle === 0
          ? members
              .map((m) => ({ m, key: order.next().value as number }))
              .sort((x, y) => x.key - y.key)
              .map((x) => x.m)
          : members;
      return `{${sorted.join(',')}}`;
    });
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : Object.is(v, -0) ? '-0' : v));

/** Decodes the documents as one block and compares each with the model. */
function compare(columns: readonly NestedField[], documents: readonly Uint8Array[]): void {
  const decoded = decodeWith(createJsonDecoder(columns, JSON_FORMAT), columns, documents);
  for (const [row, document] of documents.entries()) {
    const expected = modelRow(columns, document);
    const fault = decoded.faults.find((f) => f.row === row);
    const text = Buffer.from(document).toString();
    if ('row' in expected) {
      expect({ text, fault, row: show(decoded.rows[row]) }).toEqual({
        text,
        fault: undefined,
        row: show(expected.row),
      });
    } else if (expected.reason === 'NOT_JSON') {
      expect(NOT_JSON, text).toContain(fault?.reason);
    } else {
      expect({ text, reason: fault?.reason, field: fault?.field }).toEqual({ text, ...expected });
    }
  }
}

/** As `compare`, in the mode permissive, the texts of corrupt records kept. */
function comparePermissive(columns: readonly NestedField[], documents: readonly Uint8Array[]): void {
  const all = [...columns, { id: 0, name: CORRUPT, type: 'string', required: false } as const];
  const format = { ...JSON_FORMAT, mode: 'permissive', corruptRecordColumn: CORRUPT } as const;
  const decoded = decodeWith(createJsonDecoder(all, format), all, documents);
  for (const [row, document] of documents.entries()) {
    const expected = modelPermissiveRow(columns, document);
    const reason = decoded.reasons[row];
    const text = Buffer.from(document).toString();
    if ('row' in expected) {
      const whole = [...expected.row, expected.corrupt === true ? text : null];
      expect({ text, reason, row: show(decoded.rows[row]) }).toEqual({
        text,
        reason: null,
        row: show(whole),
      });
    } else {
      expect(expected.reason === 'NOT_JSON' ? NOT_JSON : [expected.reason], text).toContain(reason);
    }
  }
}

const CORRUPT = '_corrupt_record';

const columnsAndDocuments = fieldsOf(type, 6).chain((columns) =>
  fc.tuple(fc.constant(columns), fc.array(spaced(objectJson(columns)), { minLength: 1, maxLength: 6 })),
);

type Change = { at: number; kind: number; byte: number; length: number };
const change = fc.record({
  at: fc.nat(),
  kind: fc.integer({ min: 0, max: 4 }),
  byte: fc.oneof(
    fc.constantFrom(...'{}[]",:\\0123456789.eE+- \nnulltruefas\u007f'.split('').map((c) => c.charCodeAt(0))),
    fc.integer({ min: 0, max: 255 }),
  ),
  length: fc.integer({ min: 1, max: 8 }),
});

/** The bytes with one place overwritten, cut, doubled, put in, or all behind it taken away. */
function changed(bytes: Uint8Array, { at, kind, byte, length }: Change): Uint8Array {
  const where = at % (bytes.length + 1);
  const head = bytes.subarray(0, where);
  switch (kind) {
    case 0:
      return Buffer.concat([head, Buffer.from([byte]), bytes.subarray(where + 1)]);
    case 1:
      return Buffer.concat([head, bytes.subarray(where + length)]);
    case 2:
      return Buffer.concat([head, Buffer.from([byte]), bytes.subarray(where)]);
    case 3:
      return Buffer.concat([head, bytes.subarray(Math.max(0, where - length))]);
    default:
      return head;
  }
}

describe('JSON decoder, against a model', () => {
  it(
    'reads random documents of random schemas as the model does',
    () => {
      fc.assert(
        fc.property(columnsAndDocuments, ([columns, documents]) =>
          compare(
            columns,
            documents.map((d) => Buffer.from(d)),
          ),
        ),
        runs(800, 20_000),
      );
    },
    TIMEOUT_MS,
  );

  it(
    'reads documents with changed bytes as the model does',
    () => {
      fc.assert(
        fc.property(
          columnsAndDocuments,
          fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 8, maxLength: 8 }),
          ([columns, documents], changes) =>
            compare(
              columns,
              changes.map((each, i) =>
                each.reduce(
                  (bytes, c) => changed(bytes, c),
                  Buffer.from(documents[i % documents.length]) as Uint8Array,
                ),
              ),
            ),
        ),
        runs(800, 20_000),
      );
    },
    TIMEOUT_MS,
  );

  it(
    'makes null what it cannot read as the model does, where that is asked for',
    () => {
      fc.assert(
        fc.property(
          columnsAndDocuments,
          fc.array(change, { minLength: 6, maxLength: 6 }),
          ([columns, documents], changes) => {
            const bytes = documents.map((d) => Buffer.from(d));
            comparePermissive(columns, [
              ...bytes,
              ...changes.map((c, i) => changed(bytes[i % bytes.length], c)),
            ]);
          },
        ),
        runs(400, 10_000),
      );
    },
    TIMEOUT_MS,
  );

  it(
    "reads what Spark and the strict rules agree on as Spark's rules do",
    () => {
      const format = { ...JSON_FORMAT, compat: 'spark', mode: 'permissive' } as const;
      fc.assert(
        fc.property(columnsAndDocuments, ([columns, documents]) => {
          // Spark looks at nothing behind the document; the fast reader does, and gives the record up.
          const texts = documents.flatMap((d) => [d, `${d}x`]);
          const { rows, reasons } = decodeWith(createJsonDecoder(columns, format), columns, texts);
          for (let i = 0; i < texts.length; i += 2) {
            const text = texts[i];
            expect({ text, row: show(rows[i]), reason: reasons[i] }).toEqual({
              text,
              row: show(rows[i + 1]),
              reason: reasons[i + 1],
            });
          }
        }),
        runs(400, 10_000),
      );
    },
    TIMEOUT_MS,
  );

  it(
    'reads doubles as JavaScript does',
    () => {
      const double = fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
        fc.tuple(digits(19), digits(19)).map(([a, b]) => `${a.replace(/^0+(?=.)/, '')}.${b}`),
        fc.double({ min: 0, max: 1, noNaN: true }).map((n) => n.toFixed(17)),
        numberJson,
      );
      const columns: NestedField[] = [{ id: 1, name: 'd', type: 'double', required: false }];
      const decoder = createJsonDecoder(columns, JSON_FORMAT);
      fc.assert(
        fc.property(fc.array(double, { minLength: 50, maxLength: 50 }), (numbers) => {
          const { rows } = decodeWith(
            decoder,
            columns,
            numbers.map((n) => `{"d":${n}}`),
          );
          const expected = numbers.map((n) => (Number.isFinite(Number(n)) ? Number(n) : null));
          expect(rows.map((r) => r[0])).toEqual(expected);
        }),
        runs(400, 10_000),
      );
    },
    TIMEOUT_MS,
  );
});
