import { describe, expect, it } from 'vitest';
import { FieldCounter, NO_FIELD, NOT_JSON, OTHER_VALUES } from '../../../src/proof/field-counter.ts';

function countsOf(field: string, ...texts: (string | null)[]): Record<string, number> {
  const counter = new FieldCounter(field);
  for (const text of texts) counter.add(text);
  return counter.counts();
}

describe('FieldCounter', () => {
  it('counts by the value of a top-level field, most frequent first', () => {
    const counts = countsOf('source', '{"source":"a"}', '{"x":1,"source":"b"}', '{"source":"b"}');
    expect(Object.entries(counts)).toEqual([
      ['b', 2],
      ['a', 1],
    ]);
  });

  it('tells texts, numbers, words of JSON, objects and nothing apart', () => {
    const texts = ['"7"', '7', '"true"', 'true', 'null', '""', '"(other)"', '{"a":1}', '[1]'];
    expect(countsOf('f', ...texts.map((value) => `{"f":${value}}`))).toEqual({
      '"7"': 1,
      '7': 1,
      '"true"': 1,
      true: 1,
      null: 1,
      '""': 1,
      '"(other)"': 1,
      '{"a":1}': 1,
      '[1]': 1,
    });
  });

  it('keeps integers above 2^53 apart', () => {
    const texts = ['9007199254740992', '9007199254740993', '9007199254740993'];
    expect(countsOf('id', ...texts.map((value) => `{"id":${value}}`))).toEqual({
      '9007199254740992': 1,
      '9007199254740993': 2,
    });
  });

  it('counts what is no object, what lacks the field, and what has no value', () => {
    const counts = countsOf('source', '{"source":"a"', '["source"]', '"source"', 'null', '', null, '{"s":1}');
    expect(counts).toEqual({ [NOT_JSON]: 6, [NO_FIELD]: 1 });
  });

  it('takes no field from the prototype, and keeps one that is called like it', () => {
    expect(countsOf('toString', '{}')).toEqual({ [NO_FIELD]: 1 });
    expect(countsOf('__proto__', '{"__proto__":"x"}')).toEqual({ x: 1 });
    expect(Object.entries(countsOf('f', '{"f":"__proto__"}'))).toEqual([['__proto__', 1]]);
  });

  it('writes control characters as JSON does, and no more than 100 characters', () => {
    expect(Object.keys(countsOf('f', '{"f":"\\u001b[2J"}'))).toEqual(['"\\u001b[2J"']);
    expect(Object.keys(countsOf('f', `{"f":"${'x'.repeat(5_000)}"}`))).toEqual([`${'x'.repeat(100)}...`]);
  });

  it('keeps 200 values, and counts the rest together', () => {
    const texts = Array.from({ length: 1_000 }, (_, n) => `{"f":"v${n}"}`);
    const counts = countsOf('f', ...texts, '{"f":"v0"}');
    expect(Object.keys(counts)).toHaveLength(201);
    expect(counts[OTHER_VALUES]).toBe(800);
    expect(counts['v0']).toBe(2);
  });

  it('adds up several partitions', () => {
    const total = new FieldCounter('f');
    for (const texts of [['{"f":"a"}', '{"f":"b"}'], ['{"f":"a"}']]) {
      const counter = new FieldCounter('f');
      for (const text of texts) counter.add(text);
      total.merge(counter);
    }
    expect(total.counts()).toEqual({ a: 2, b: 1 });
  });
});
