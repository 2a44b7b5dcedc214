import avsc from 'avsc';
import { describe, expect, it } from 'vitest';
import { DUCKDB_JOBS, duckdbStatement } from '../../../bench/typed/duckdb-jobs.ts';
import {
  AVRO_SCHEMA,
  LEAST_DOCUMENT_BYTES,
  SCHEMA_ID,
  TYPED_COLUMNS,
  TYPED_DDL,
  TypedEvents,
} from '../../../bench/typed/typed-events.ts';
import { parseSchemaText } from '../../../src/core/schema-text/parse-schema-text.ts';

const NAMES = TYPED_COLUMNS.map(({ name }) => name);

describe('the records of the typed benchmarks', () => {
  it('are documents of one length with every field, the same for the same number', () => {
    for (const length of [LEAST_DOCUMENT_BYTES, 250, 1000]) {
      const events = new TypedEvents(length);
      for (let n = 0; n < 2000; n++) {
        const { key, value } = events.json(n);
        expect(value).toHaveLength(length);
        expect(key).toMatch(/^\d{4}$/);
        expect(Object.keys(JSON.parse(value) as object)).toEqual(NAMES);
      }
      expect(events.json(7)).toEqual(new TypedEvents(length).json(7));
    }
  });

  it('have nulls, and some that are late by hours', () => {
    const events = new TypedEvents(250);
    const documents = Array.from({ length: 4000 }, (_, n) => JSON.parse(events.json(n).value));
    const days = new Set(documents.map(({ ts }) => ts.slice(0, 10)));
    expect([...days].sort()).toEqual(['2025-12-31', '2026-01-01']);
    expect(documents.some(({ country }) => country === null)).toBe(true);
    expect(documents.some(({ country }) => country !== null)).toBe(true);
  });

  it('hold the same values in Avro, behind the frame of the registry', () => {
    const events = new TypedEvents(250);
    const type = avsc.Type.forSchema(JSON.parse(AVRO_SCHEMA) as avsc.Schema);
    for (let n = 0; n < 500; n++) {
      const document = JSON.parse(events.json(n).value);
      const { key, value } = events.avro(n);
      expect(key).toBe(events.json(n).key);
      expect([value[0], value.readUInt32BE(1)]).toEqual([0, SCHEMA_ID]);
      const { ts, price, ...rest } = type.fromBuffer(value.subarray(5));
      const { ts: time, price: amount, ...same } = document;
      expect(rest).toEqual(same);
      expect(ts).toBe(Date.parse(time));
      expect(Number(BigInt.asIntN(price.length * 8, BigInt(`0x${price.toString('hex')}`)))).toBe(
        Math.round(amount * 10_000),
      );
    }
  });

  it('have their columns in the words of Spark and of DuckDB', () => {
    const { fields } = parseSchemaText(TYPED_DDL);
    expect(fields.map(({ name }) => name)).toEqual(NAMES);
    expect(fields.filter(({ type }) => type === 'timestamptz').map(({ name }) => name)).toEqual(['ts']);
    for (const job of DUCKDB_JOBS) {
      const sql = duckdbStatement(job, "it's.ndjson", 'out');
      expect(sql).toContain("read_json('it''s.ndjson'");
      expect(sql).toContain("price: 'DECIMAL(10,4)'");
    }
  });
});
