import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assignFieldIds } from '../../../src/core/field-ids.ts';
import {
  highestFieldId,
  type IcebergType,
  type NestedField,
  type StructType,
  walkFields,
} from '../../../src/core/schema.ts';
import { evolveSchema } from '../../../src/core/schema-evolution.ts';
import { formatDdl } from '../../../src/core/schema-text/format-ddl.ts';
import { jsonPosition } from '../../../src/core/schema-text/json-position.ts';
import { jsonSyntaxFault } from '../../../src/core/schema-text/json-syntax.ts';
import { parseSchemaText } from '../../../src/core/schema-text/parse-schema-text.ts';
import { SluiceError } from '../../../src/errors.ts';

const decimal = fc
  .tuple(fc.integer({ min: 1, max: 38 }), fc.nat(38))
  .map(([precision, scale]): IcebergType => `decimal(${precision}, ${Math.min(precision, scale)})`);
const primitive = fc.oneof(
  fc.constantFrom<IcebergType>(
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
    'uuid',
    'binary',
  ),
  decimal,
  fc.integer({ min: 1, max: 4096 }).map((length): IcebergType => `fixed[${length}]`),
);
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'struct', 'NOT', 'x y', 'weird`name', '1a', '12', '키', 'a.b', 'comment'),
  fc.string({ minLength: 1, maxLength: 6 }),
);

const field = (type: fc.Arbitrary<IcebergType>): fc.Arbitrary<NestedField> =>
  fc.record(
    {
      id: fc.constant(0),
      name,
      required: fc.boolean(),
      type,
      doc: fc.string({ unit: 'binary', maxLength: 8 }),
    },
    { requiredKeys: ['id', 'name', 'required', 'type'] },
  );
const structOf = (type: fc.Arbitrary<IcebergType>): fc.Arbitrary<StructType> =>
  fc
    // No dots: two full names must not meet.
    .uniqueArray(
      field(type).map((f) => ({ ...f, name: f.name.replaceAll('.', '-') })),
      {
        minLength: 1,
        maxLength: 4,
        selector: (f) => f.name,
      },
    )
    .map((fields) => ({ type: 'struct', fields }));
const { type } = fc.letrec<{ type: IcebergType }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    primitive,
    structOf(tie('type')),
    fc.record({
      type: fc.constant('list' as const),
      elementId: fc.constant(0),
      element: tie('type'),
      elementRequired: fc.boolean(),
    }),
    fc.record({
      type: fc.constant('map' as const),
      keyId: fc.constant(0),
      key: tie('type'),
      valueId: fc.constant(0),
      value: tie('type'),
      valueRequired: fc.boolean(),
    }),
  ),
}));
const schema = structOf(type);

describe('schema text', () => {
  it('is read back as it was printed, with ids 1, 2, 3 and no gap', () => {
    fc.assert(
      fc.property(schema, (struct) => {
        const wanted = assignFieldIds(struct);
        expect(parseSchemaText(formatDdl(struct))).toEqual(wanted);
        const ids = [...walkFields(wanted)].map((f) => f.id).sort((a, b) => a - b);
        expect(ids).toEqual(ids.map((_, i) => i + 1));
      }),
    );
  });

  it('that is damaged is read or refused, nothing else', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      ',',
      '(',
      ')',
      "'",
      '`',
      '/*',
      '--',
      ' NOT',
      ' DEFAULT 1',
      '\\',
      '{',
      ':',
      '-',
      '9e9',
      '',
    );
    fc.assert(
      fc.property(
        schema,
        fc.array(fc.tuple(fc.nat(), fc.nat(5), piece), { maxLength: 4 }),
        (struct, cuts) => {
          let text = formatDdl(struct);
          for (const [at, length, instead] of cuts) {
            const from = at % (text.length + 1);
            text = text.slice(0, from) + instead + text.slice(from + length);
          }
          readOrRefuse(text);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of any characters is read or refused', () => {
    const words = fc.constantFrom(
      'a',
      ' ',
      'INT',
      'STRUCT',
      '<',
      '>',
      'DECIMAL(',
      '9',
      ',',
      ')',
      "'",
      '"',
      '`',
      'NOT NULL',
      'DEFAULT',
      '{"type":',
      '[',
      '}',
      'MAP<',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(words).map((w) => w.join('')),
        ),
        readOrRefuse,
      ),
      {
        numRuns: 500,
      },
    );
  });

  it('in JSON that is damaged is refused at a place in the text', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 3 }), (json, at, instead) => {
        const from = at % (json.length + 1);
        const text = json.slice(0, from) + instead + json.slice(from + 1);
        let parses = true;
        try {
          JSON.parse(text);
        } catch {
          parses = false;
        }
        expect(jsonSyntaxFault(text) === undefined).toBe(parses);
      }),
      { numRuns: 1000 },
    );
  });

  it('in JSON is found by its path', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1 })),
        fc.nat(2),
        (object, space) => {
          const text = JSON.stringify(object, null, space);
          for (const [key, items] of Object.entries(object)) {
            for (const [i, item] of items.entries()) {
              const at = jsonPosition(text, [key, i]);
              expect(text.slice(at).startsWith(JSON.stringify(item, null, 0)[0])).toBe(true);
              const rest = text.slice(at);
              expect(prefixIs(rest, item)).toBe(true);
            }
          }
        },
      ),
    );
  });
});

/** Does the text begin with this value as JSON? */
function prefixIs(text: string, value: unknown): boolean {
  const wanted = JSON.stringify(value);
  for (let end = wanted.length; end <= text.length; end++) {
    try {
      if (JSON.stringify(JSON.parse(text.slice(0, end))) === wanted) return true;
    } catch {
      // Not the whole value yet.
    }
  }
  return false;
}

function readOrRefuse(text: string): void {
  try {
    expect(parseSchemaText(formatDdl(parseSchemaText(text)))).toEqual(parseSchemaText(text));
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'CONFIG_INVALID') throw error;
    expect(error.message.length).toBeLessThan(1000);
  }
}

describe('evolution', () => {
  it('keeps every field with its id, gives new ids once, and is done after one step', () => {
    fc.assert(
      fc.property(
        schema,
        schema,
        fc.nat(1000),
        fc.constantFrom(2, 3),
        fc.boolean(),
        (a, b, last, formatVersion, caseInsensitive) => {
          const table = { ...assignFieldIds(a), schemaId: 0 };
          const context = { rule: 'widen', lastColumnId: last, formatVersion, caseInsensitive } as const;
          const first = evolveSchema(table, b, context);
          const before = [...walkFields(table)];
          const after = new Map([...walkFields(first.schema)].map((f) => [f.id, f]));
          expect(after.size).toBe([...walkFields(first.schema)].length);
          for (const { id, name: was, required } of before) {
            expect(after.get(id)?.name).toBe(was);
            if (!required) expect(after.get(id)?.required).toBe(false);
          }
          const added = [...after.keys()].filter((id) => !before.some((f) => f.id === id));
          expect(added.every((id) => id > Math.max(last, highestFieldId(table)))).toBe(true);
          expect(highestFieldId(first.schema)).toBeLessThanOrEqual(first.lastColumnId);
          expect(first.schema === table).toBe(first.changes.length === 0);
          const second = evolveSchema(first.schema, b, { ...context, lastColumnId: first.lastColumnId });
          expect(second.changes).toEqual([]);
          expect(second.schema).toBe(first.schema);
          expect(evolveSchema(table, b, context)).toEqual(first);
          expect(evolveSchema(table, b, { ...context, rule: 'none' }).changes).toEqual([]);
        },
      ),
    );
  });
});
