import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IcebergType, StructType } from '../../../src/core/schema.ts';
import { SchemaInference } from '../../../src/decode/infer/schema-inference.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, '', 'x', '2026-07-14', '2026-07-14T09:05:06Z', 1, 1.5, 1e300, -7),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3 }),
  ),
}));
const document = fc.dictionary(key, value, { maxKeys: 4 });

function infer(texts: readonly string[], inferTimestamps: boolean): SchemaInference {
  const inference = new SchemaInference({ inferTimestamps });
  for (const text of texts) inference.addJson(Buffer.from(text));
  return inference;
}

/** Fields by name, so that the order in which they were met does not count. */
function shape(type: IcebergType | StructType): unknown {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return [shape(type.element)];
  if (type.type === 'map') throw new Error('no map is inferred');
  return Object.fromEntries(
    type.fields.map((f) => [f.name, shape(f.type)] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Can a value be told by the type as it is (a string stands for anything)? */
function holds(type: IcebergType | undefined, json: unknown): boolean {
  if (json === null || json === '' || type === 'string') return true;
  if (Array.isArray(json))
    return (
      json.every(isNothing) ||
      (typeof type === 'object' && type.type === 'list' && json.every((item) => holds(type.element, item)))
    );
  if (typeof json === 'object') {
    if (isNothing(json)) return true;
    if (typeof type !== 'object' || type.type !== 'struct') return false;
    return Object.entries(json).every(
      ([name, item]) => isNothing(item) || holds(type.fields.find((f) => f.name === name)?.type, item),
    );
  }
  if (typeof json === 'number') return type === 'double' || (type === 'long' && Number.isInteger(json));
  if (typeof json === 'boolean') return type === 'boolean';
  return type === 'timestamptz' ? String(json).includes('T') : type === 'date' && !String(json).includes('T');
}

function isNothing(json: unknown): boolean {
  // A text of no length stands for null beside `{}` and `[]`.
  if (json === null || json === '') return true;
  return typeof json === 'object' && Object.values(json).every(isNothing);
}

describe('inference', () => {
  it('does not depend on the order of the documents, and holds every value', () => {
    fc.assert(
      fc.property(
        fc.array(document, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (documents, timestamps) => {
          const texts = documents.map((d) => JSON.stringify(d));
          const result = infer(texts, timestamps).result();
          const reversed = infer([...texts].reverse(), timestamps).result();
          expect(result === null).toBe(reversed === null);
          if (result === null || reversed === null) return;
          expect(shape(reversed)).toEqual(shape(result));
          for (const json of documents) expect(holds(result, json), JSON.stringify(json)).toBe(true);
        },
      ),
    );
  });

  it('takes any bytes, and tells JSON objects from others', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.uint8Array({ maxLength: 3 }), (json, at, instead) => {
        const whole = Buffer.from(json);
        const cut = at % (whole.length + 1);
        const bytes = Buffer.concat([whole.subarray(0, cut), instead, whole.subarray(cut + 1)]);
        const inference = new SchemaInference();
        const taken = inference.addJson(bytes);
        let parsed: unknown;
        try {
          parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
        } catch {
          expect(taken).toBe(false);
          return;
        }
        const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
        // JSON.parse takes lone surrogates, which are refused here.
        if (taken || !JSON.stringify(parsed).includes('\\ud')) expect(taken).toBe(isObject);
      }),
      { numRuns: 2000 },
    );
  });
});
