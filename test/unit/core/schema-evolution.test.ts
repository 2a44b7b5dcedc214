import { describe, expect, it } from 'vitest';
import type { Schema } from '../../../src/core/schema.ts';
import { type Evolution, type EvolutionContext, evolveSchema } from '../../../src/core/schema-evolution.ts';
import { formatDdl } from '../../../src/core/schema-text/format-ddl.ts';
import { parseSchemaText } from '../../../src/core/schema-text/parse-schema-text.ts';

const table = (ddl: string, identifierFieldIds: number[] = []): Schema => ({
  ...parseSchemaText(ddl),
  schemaId: 4,
  identifierFieldIds,
});
const CONTEXT: EvolutionContext = {
  rule: 'widen',
  lastColumnId: 50,
  formatVersion: 2,
  caseInsensitive: false,
};
const evolve = (from: string, to: string, more: Partial<EvolutionContext> = {}): Evolution =>
  evolveSchema(table(from), parseSchemaText(to), { ...CONTEXT, ...more });

describe('evolution', () => {
  it('adds no column whose full name is that of another through a dot, whatever its case', () => {
    const { schema, refused } = evolve(
      '`a.b` INT, s STRUCT<x: INT>',
      'A STRUCT<B: INT>, `S.X` INT, `s.y` INT, s STRUCT<Y: INT, z: INT>',
    );
    expect(formatDdl(schema)).toBe('`a.b` INT, s STRUCT<x: INT, z: INT>, `s.y` INT');
    expect(refused.map(({ kind, path }) => [kind, path])).toEqual([
      ['name', 'A'],
      ['name', 'S.X'],
      ['name', 's.Y'],
    ]);
  });

  it('adds no column whose full name is taken, whatever its case', () => {
    const taken = ['at_day', 's.x_bucket', 'a'];
    const { schema, refused } = evolve(
      'a INT, s STRUCT<x: INT>',
      'a BIGINT, At_Day INT, s STRUCT<x_bucket: INT, y: INT>, z STRUCT<at_day: INT>',
      { taken },
    );
    expect(formatDdl(schema)).toBe('a BIGINT, s STRUCT<x: INT, y: INT>, z STRUCT<at_day: INT>');
    expect(refused.map(({ kind, path, why }) => [kind, path, why])).toEqual([
      ['name', 'At_Day', 'a partition field of the table has the name At_Day'],
      ['name', 's.x_bucket', 'a partition field of the table has the name s.x_bucket'],
    ]);
  });

  it('adds columns at every level, with ids above the last one, in the order of what is wanted', () => {
    const { schema, lastColumnId, changes, refused } = evolve(
      's STRUCT<a: INT>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>',
      'z STRUCT<x: INT, y: ARRAY<INT>>, m MAP<STRING, STRUCT<b: INT>>, l ARRAY<STRUCT<a: INT, b: STRING>>, s STRUCT<c: DATE, a: INT>',
    );
    expect(refused).toEqual([]);
    expect(formatDdl(schema)).toBe(
      's STRUCT<a: INT, c: DATE>, l ARRAY<STRUCT<a: INT, b: STRING>>, m MAP<STRING, STRUCT<a: INT, b: INT>>, z STRUCT<x: INT, y: ARRAY<INT>>',
    );
    expect(changes.map(({ kind, path, from, to }) => [kind, path, from, to])).toEqual([
      ['add', 'z', null, 'STRUCT<x: INT, y: ARRAY<INT>>'],
      ['add', 'm.value.b', null, 'INT'],
      ['add', 'l.element.b', null, 'STRING'],
      ['add', 's.c', null, 'DATE'],
    ]);
    expect(lastColumnId).toBe(57);
    expect(schema).toMatchObject({ schemaId: 4, identifierFieldIds: [] });
    expect(schema.fields[3]).toEqual({
      id: 51,
      name: 'z',
      required: false,
      type: {
        type: 'struct',
        fields: [
          { id: 52, name: 'x', required: false, type: 'int' },
          {
            id: 53,
            name: 'y',
            required: false,
            type: { type: 'list', elementId: 54, element: 'int', elementRequired: false },
          },
        ],
      },
    });
    const before = table('s STRUCT<a: INT>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>');
    expect(schema.fields.slice(0, 3).map((f) => f.id)).toEqual(before.fields.map((f) => f.id));
  });

  it('widens and makes optional', () => {
    const { schema, changes, refused } = evolve(
      'a INT, b FLOAT, c DECIMAL(5,2), d INT NOT NULL, l ARRAY<INT NOT NULL>, m MAP<INT, FLOAT NOT NULL>',
      'a BIGINT, b DOUBLE, c DECIMAL(9,2), d BIGINT, l ARRAY<BIGINT>, m MAP<INT, DOUBLE>',
    );
    expect(refused).toEqual([]);
    expect(formatDdl(schema)).toBe(
      'a BIGINT, b DOUBLE, c DECIMAL(9,2), d BIGINT, l ARRAY<BIGINT>, m MAP<INT, DOUBLE>',
    );
    expect(changes).toContainEqual({ kind: 'widen', path: 'c', from: 'DECIMAL(5,2)', to: 'DECIMAL(9,2)' });
    expect(changes).toContainEqual({ kind: 'makeOptional', path: 'd', from: 'INT NOT NULL', to: 'INT' });
    expect(changes).toContainEqual({ kind: 'widen', path: 'm.value', from: 'FLOAT', to: 'DOUBLE' });
    expect(changes).toHaveLength(9);
  });

  it('leaves alone what holds all that is wanted', () => {
    const before = table(
      'a BIGINT, b DOUBLE, c DECIMAL(9,2), d INT, gone STRING NOT NULL, m MAP<BIGINT, INT>',
    );
    const wanted = parseSchemaText('a INT, b FLOAT, c DECIMAL(5,2), d INT NOT NULL, m MAP<INT, INT>');
    const { schema, changes, refused, lastColumnId } = evolveSchema(before, wanted, CONTEXT);
    expect(schema).toBe(before);
    expect([changes, refused, lastColumnId]).toEqual([[], [], 50]);
  });

  it('never takes an id that is in use, whatever the last one is said to be', () => {
    const { schema } = evolve('a INT, b INT', 'c INT', { lastColumnId: 0 });
    expect(schema.fields.map((f) => f.id)).toEqual([1, 2, 3]);
  });

  it.each([
    ['a STRING', 'a INT', 'type', 'STRING', 'INT'],
    ['a BIGINT', 'a DOUBLE', 'type', 'BIGINT', 'DOUBLE'],
    ['a INT', 'a DECIMAL(10,0)', 'type', 'INT', 'DECIMAL(10,0)'],
    ['a DECIMAL(9,2)', 'a DECIMAL(10,3)', 'type', 'DECIMAL(9,2)', 'DECIMAL(10,3)'],
    ['a DATE', 'a TIMESTAMP_NTZ', 'type', 'DATE', 'TIMESTAMP_NTZ'],
    ['a TIMESTAMP', 'a TIMESTAMP_NTZ', 'type', 'TIMESTAMP', 'TIMESTAMP_NTZ'],
    ['a TIMESTAMP_NTZ', 'a TIMESTAMP_NS', 'type', 'TIMESTAMP_NTZ', 'TIMESTAMP_NS'],
    ['a UUID', 'a FIXED(16)', 'type', 'UUID', 'FIXED(16)'],
    ['a INT', 'a ARRAY<INT>', 'type', 'INT', 'ARRAY<INT>'],
    ['a ARRAY<INT>', 'a INT', 'type', 'ARRAY<INT>', 'INT'],
    ['a ARRAY<INT>', 'a MAP<INT, INT>', 'type', 'ARRAY<INT>', 'MAP<INT, INT>'],
    ['a INT', 'A INT', 'name', null, 'INT'],
    ['a INT', '_Row_Id BIGINT', 'name', null, 'BIGINT'],
    ['a STRUCT<b: INT>', '`a.b` INT', 'name', null, 'INT'],
    ['`a.b` INT', 'a STRUCT<b: INT>', 'name', null, 'STRUCT<b: INT>'],
    ['a INT', 'b STRUCT<x: INT, X: INT>', 'name', null, 'STRUCT<x: INT, X: INT>'],
    ['a INT', 'b TIMESTAMP_NS', 'version', null, 'TIMESTAMP_NS'],
    ['a INT', 'b ARRAY<TIMESTAMPTZ_NS>', 'version', null, 'ARRAY<TIMESTAMPTZ_NS>'],
  ])('of %s to %s is refused', (from, to, kind, fromType, toType) => {
    const { schema, changes, refused } = evolve(from, to);
    expect(changes).toEqual([]);
    expect(formatDdl(schema)).toBe(from);
    expect(refused).toEqual([
      { kind, path: parseSchemaText(to).fields[0].name, from: fromType, to: toType, why: expect.any(String) },
    ]);
  });

  it('refuses any change of the keys of a map', () => {
    for (const key of ['STRING', 'BIGINT', 'STRUCT<a: INT, b: INT>']) {
      const { refused, changes } = evolve('m MAP<INT, INT>', `m MAP<${key}, BIGINT>`);
      expect(refused.map(({ kind, path }) => [kind, path])).toEqual([['type', 'm.key']]);
      expect(changes.map(({ kind, path }) => [kind, path])).toEqual([['widen', 'm.value']]);
    }
  });

  it('keeps identifier fields, and the structs that hold them, required', () => {
    const schema = table('k STRUCT<id: INT NOT NULL, x: INT NOT NULL> NOT NULL', [2]);
    const evolution = evolveSchema(schema, parseSchemaText('k STRUCT<id: INT, x: INT>'), CONTEXT);
    expect(evolution.refused.map(({ kind, path }) => [kind, path])).toEqual([
      ['required', 'k'],
      ['required', 'k.id'],
    ]);
    expect(formatDdl(evolution.schema)).toBe('k STRUCT<id: INT NOT NULL, x: INT> NOT NULL');
  });

  it('does what the rule allows, and names the rest', () => {
    const [from, to] = ['a INT NOT NULL, b INT', 'a BIGINT, c INT'];
    const kinds = (rule: EvolutionContext['rule']): string[] => {
      const { changes, refused } = evolve(from, to, { rule });
      return [...changes.map((c) => `${c.kind} ${c.path}`), ...refused.map((r) => `no ${r.kind} ${r.path}`)];
    };
    expect(kinds('none')).toEqual(['no required a', 'no type a', 'no newColumn c']);
    expect(kinds('add')).toEqual(['add c', 'no required a', 'no type a']);
    expect(kinds('widen')).toEqual(['makeOptional a', 'widen a', 'add c']);
  });

  it('takes the column that differs only in case where case does not count', () => {
    const insensitive = { caseInsensitive: true };
    const one = evolve(
      'orderid INT, s STRUCT<Qty: INT>',
      'OrderId BIGINT, S STRUCT<qty: INT, n: INT>',
      insensitive,
    );
    expect(formatDdl(one.schema)).toBe('orderid BIGINT, s STRUCT<Qty: INT, n: INT>');
    expect(one.changes.map((c) => c.path)).toEqual(['orderid', 's.n']);
    const two = evolve('orderid INT, orderID INT', 'ORDERID INT', insensitive);
    expect(two.refused).toMatchObject([
      { kind: 'name', why: 'orderid and orderID differs from it only in case' },
    ]);
    expect(evolve('orderid INT, orderID INT', 'orderID BIGINT', insensitive).changes).toHaveLength(1);
    expect(evolve('a INT', 'x INT, X INT').refused).toMatchObject([{ kind: 'name', path: 'X' }]);
  });

  it('keeps defaults from version 3 on, required fields only inside of what is new', () => {
    const to = 'b INT NOT NULL DEFAULT 7, s STRUCT<x: INT NOT NULL DEFAULT 8>, t TIMESTAMP_NS';
    expect(formatDdl(evolve('a INT', to, { formatVersion: 3 }).schema)).toBe(
      'a INT, b INT DEFAULT 7, s STRUCT<x: INT NOT NULL DEFAULT 8>, t TIMESTAMP_NS',
    );
    expect(formatDdl(evolve('a INT', to).schema)).toBe('a INT, b INT, s STRUCT<x: INT NOT NULL>');
  });

  it('asks nothing of a column that JSON values of the inferred type may stand for', () => {
    const from =
      'a TIMESTAMP, b UUID, c DATE, d BINARY, e DECIMAL(10,2), f DOUBLE, g TIMESTAMP_NTZ, h MAP<STRING, INT>, i FLOAT, j FIXED(4)';
    const to =
      'a STRING, b STRING, c STRING, d STRING, e DOUBLE, f BIGINT, g BIGINT, h STRUCT<k: BIGINT>, i DECIMAL(20,0), j STRING, z BIGINT';
    const inferred = evolve(from, to, { inferred: true });
    expect(inferred.refused).toEqual([]);
    expect(inferred.changes.map((c) => c.path)).toEqual(['z']);
    expect(evolve(from, to).refused).toHaveLength(10);
    const asked = evolve(
      'a INT, b BIGINT, c BOOLEAN, d STRING, e BIGINT, f STRUCT<x: INT>, g MAP<STRING, INT>',
      'a BIGINT, b STRING, c BIGINT, d BIGINT, e DOUBLE, f STRING, g STRING',
      { inferred: true },
    );
    expect(asked.changes.map((c) => c.path)).toEqual(['a']);
    expect(asked.refused.map((r) => r.path)).toEqual(['b', 'c', 'd', 'e', 'f', 'g']);
  });

  it('widens an int for an inferred long only, and adds an inferred int as a long', () => {
    const { schema, changes } = evolve(
      'a INT, b INT, c BIGINT',
      'a INT, b BIGINT, c INT, d INT, e ARRAY<STRUCT<x: INT>>',
      { inferred: true },
    );
    expect(formatDdl(schema)).toBe('a INT, b BIGINT, c BIGINT, d BIGINT, e ARRAY<STRUCT<x: BIGINT>>');
    expect(changes.map(({ path, to }) => [path, to])).toEqual([
      ['b', 'BIGINT'],
      ['d', 'BIGINT'],
      ['e', 'ARRAY<STRUCT<x: BIGINT>>'],
    ]);
  });

  it('makes no column optional for inferred columns, which are never required', () => {
    const from = 'a INT NOT NULL, b STRUCT<x: INT NOT NULL> NOT NULL, c ARRAY<INT>';
    const { schema, refused } = evolve(from, 'a BIGINT, b STRUCT<x: INT, y: INT>, c ARRAY<INT>', {
      rule: 'widen',
      inferred: true,
    });
    expect(refused).toEqual([]);
    expect(formatDdl(schema)).toBe(
      'a BIGINT NOT NULL, b STRUCT<x: INT NOT NULL, y: BIGINT> NOT NULL, c ARRAY<INT>',
    );
  });
});
