/** What Apache Spark made of schemas, documents and lines (recorded by test/support/python/record_spark_schemas.py) is what Sluice makes of them. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { IcebergType, StructType } from '../../../src/core/schema.ts';
import { parseSchemaText } from '../../../src/core/schema-text/parse-schema-text.ts';
import type { CsvFormat } from '../../../src/core/value-format.ts';
import { createCsvDecoder } from '../../../src/decode/csv/csv-decoder.ts';
import { SchemaInference } from '../../../src/decode/infer/schema-inference.ts';
import { isSluiceError } from '../../../src/errors.ts';
import { vectorValue } from '../../support/parquet-model.ts';
import { bytesVector } from '../../support/parquet-table.ts';

type Recorded =
  | { kind: 'spark'; version: string; csvSchema: string }
  | { kind: 'ddl'; ddl: string; json: object | null }
  | { kind: 'infer'; documents: string[]; json: { fields: object[] } }
  | { kind: 'csv'; line: string; row: unknown[] };

const RECORDED = readFileSync(new URL('../../support/spark/schemas.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);
const of = <K extends Recorded['kind']>(kind: K) =>
  RECORDED.filter((r): r is Extract<Recorded, { kind: K }> => r.kind === kind);

describe('DDL', () => {
  it.each(of('ddl'))('$ddl', ({ ddl, json }) => {
    if (json !== null) {
      expect(parseSchemaText(ddl)).toEqual(parseSchemaText(json));
      return;
    }
    expect(() => parseSchemaText(ddl)).toThrow(expect.toSatisfy((e) => isSluiceError(e, 'CONFIG_INVALID')));
  });

  it('was recorded from a Spark that takes some and refuses others', () => {
    expect(of('ddl').filter(({ json }) => json === null).length).toBeGreaterThan(20);
    expect(of('ddl').filter(({ json }) => json !== null).length).toBeGreaterThan(30);
  });
});

/** Spark sorts fields by name. */
function sorted(struct: StructType): unknown {
  const shape = (type: IcebergType): unknown => {
    if (typeof type === 'string') return type;
    if (type.type === 'list') return [shape(type.element)];
    return type.type === 'struct' ? sorted(type) : type;
  };
  return Object.fromEntries(
    struct.fields
      .map(({ name, type }): [string, unknown] => [name, shape(type)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

describe('inference', () => {
  it.each(of('infer'))('$documents', ({ documents, json }) => {
    const inference = new SchemaInference();
    for (const document of documents) expect(inference.addJson(Buffer.from(document))).toBe(true);
    const result = inference.result();
    if (json.fields.length === 0) expect(result).toBeNull();
    else expect(sorted(result!)).toEqual(sorted(parseSchemaText(json)));
  });
});

describe('from_csv', () => {
  const [{ csvSchema }] = of('spark');
  const { fields } = parseSchemaText(csvSchema);
  const format: CsvFormat = {
    format: 'csv',
    mode: 'permissive',
    corruptRecordColumn: '_c',
    timeZone: 'UTC',
    delimiter: ',',
    quote: '"',
    escape: '"',
    nullValue: '',
    timestampUnit: 'micros',
    decimalRounding: 'refuse',
  };

  /** Values in the form in which Spark shows them when they are cast to strings. */
  function shown(value: unknown, type: IcebergType): unknown {
    if (value === null) return null;
    if (value instanceof Uint8Array) return Buffer.from(value).toString();
    if (type === 'double')
      return Object.is(value, -0) ? '-0.0' : Number.isInteger(value) ? `${value}.0` : String(value);
    if (type === 'date') return new Date(Number(value) * 86_400_000).toISOString().slice(0, 10);
    if (type === 'timestamptz') return Number(value);
    if (type === 'long') return String(value);
    if (typeof value !== 'bigint') return value;
    const digits = (value < 0n ? -value : value).toString().padStart(3, '0');
    return `${value < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
  }

  it.each(of('csv'))('$line', ({ line, row }) => {
    const decoder = createCsvDecoder(fields, format);
    decoder.decode(bytesVector([line]));
    expect(decoder.faults).toEqual([]);
    const values = decoder.columns.map((column, i) => {
      const { type } = fields[i];
      return shown(vectorValue(column as never, 0, type as never), type);
    });
    expect(values).toEqual(row);
  });
});
