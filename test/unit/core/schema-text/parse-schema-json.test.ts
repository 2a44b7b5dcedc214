import { describe, expect, it } from 'vitest';
import { parseSchemaText } from '../../../../src/core/schema-text/parse-schema-text.ts';
import { isSluiceError, type SluiceError } from '../../../../src/errors.ts';

function faultOf(input: string | object): SluiceError {
  try {
    parseSchemaText(input);
  } catch (error) {
    if (isSluiceError(error, 'CONFIG_INVALID')) return error;
    throw error;
  }
  throw new Error('no fault');
}

const sparkField = (name: string, type: unknown, more: object = {}): object => ({
  name,
  type,
  nullable: true,
  metadata: {},
  ...more,
});
const spark = (...fields: object[]): object => ({ type: 'struct', fields });
const iceberg = spark;
const icebergField = (name: string, type: unknown, more: object = {}): object => ({
  id: 77,
  name,
  type,
  required: false,
  ...more,
});

describe("Spark's StructType JSON", () => {
  it('is the same schema as its DDL', () => {
    const array = { type: 'array', elementType: 'byte', containsNull: true };
    const map = { type: 'map', keyType: 'string', valueType: array, valueContainsNull: true };
    const struct = spark(sparkField('x', 'decimal(12,2)', { nullable: false, metadata: { comment: 'c' } }));
    const json = spark(
      sparkField('id', 'long', { nullable: false }),
      sparkField('t', 'timestamp'),
      sparkField('n', 'timestamp_ntz'),
      sparkField('v', 'varchar(20)'),
      sparkField('u', 'string collate UTF8_LCASE'),
      sparkField('m', map),
      sparkField('s', struct),
      sparkField('i', 'integer', { metadata: { CURRENT_DEFAULT: '5', EXISTS_DEFAULT: "CAST('4' AS INT)" } }),
    ) as { fields: { metadata: object }[] };
    expect(faultOf(json).message).toContain('fields[7].metadata.EXISTS_DEFAULT: expected a literal');
    json.fields[7].metadata = { CURRENT_DEFAULT: '5', EXISTS_DEFAULT: '5' };
    const ddl = parseSchemaText(
      "id BIGINT NOT NULL, t TIMESTAMP, n TIMESTAMP_NTZ, v VARCHAR(20), u STRING, m MAP<STRING, ARRAY<TINYINT>>, s STRUCT<x: DECIMAL(12,2) NOT NULL COMMENT 'c'>, i INT DEFAULT 5",
    );
    expect(parseSchemaText(json)).toEqual(ddl);
    expect(parseSchemaText(JSON.stringify(json, null, 2))).toEqual(ddl);
  });

  it.each([
    ['void', 'nothing but null'],
    ['interval day to second', 'holds no INTERVAL'],
    ['intger', 'did you mean INTEGER?'],
    ['decimal(39,0)', 'the precision 39'],
    ['', 'expected the name of a type'],
    [{ type: 'udt', sqlType: 'string' }, 'expected "struct", "array", "map"'],
    [{ type: 'array', elementType: 'string' }, 'containsNull: expected true or false, found nothing'],
    [{ type: 'struct', fields: [] }, 'a struct without fields'],
    [7, 'expected an object, found 7'],
  ])('refuses the type %j', (type, message) =>
    expect(faultOf(spark(sparkField('a', type))).message).toContain(message),
  );
});

describe("Iceberg's schema JSON", () => {
  it('is read with fresh ids', () => {
    const list = { type: 'list', 'element-id': 9, element: 'uuid', 'element-required': true };
    const map = { type: 'map', 'key-id': 9, key: 'int', 'value-id': 9, value: list, 'value-required': false };
    const json = {
      ...iceberg(
        icebergField('t', 'timestamp'),
        icebergField('m', map, { required: true, doc: 'd' }),
        icebergField('f', 'fixed[ 4 ]'),
        icebergField('l', 'long', { 'write-default': 7, 'initial-default': 6 }),
      ),
      'schema-id': 3,
      'identifier-field-ids': [1],
    };
    const expected = parseSchemaText(
      "t TIMESTAMP_NTZ, m MAP<INT, ARRAY<UUID NOT NULL>> NOT NULL COMMENT 'd', f FIXED(4), l BIGINT",
    );
    expect(parseSchemaText(JSON.stringify(json))).toEqual({
      ...expected,
      fields: expected.fields.map((f) => (f.name === 'l' ? { ...f, initialDefault: 6, writeDefault: 7 } : f)),
    });
  });

  it('keeps defaults beyond 2^53', () => {
    const text = `{"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"long","write-default":9007199254740993}]}`;
    expect(parseSchemaText(text).fields[0].writeDefault).toBe(9007199254740993n);
  });

  it.each([
    ['integer', 'expected one of boolean, int'],
    ['decimal(4,5)', 'a precision from 1 to 38'],
    ['fixed[0]', 'expected one of'],
    [{ type: 'array', elementType: 'int' }, 'expected "struct", "list", "map"'],
    [{ type: 'list', element: 'int' }, 'element-required: expected true or false'],
  ])('refuses the type %j', (type, message) =>
    expect(faultOf(iceberg(icebergField('a', type))).message).toContain(message),
  );

  it.each([
    ['int', 'x'],
    ['int', 2147483648],
    ['date', '2026-02-30'],
    [{ type: 'list', element: 'int', 'element-required': false }, 1],
  ])('refuses a default of %j that is %j', (type, value) =>
    expect(faultOf(iceberg(icebergField('a', type, { 'write-default': value }))).message).toContain(
      'fields[0].write-default: expected a value of the type',
    ),
  );
});

describe('JSON of neither kind', () => {
  it.each([
    ['[]', '1:1', 'expected an object, found a list'],
    ['{"type":"struct"}', '1:1', 'fields: expected a list, found nothing'],
    ['{"type":"record","fields":[]}', '1:9', 'type: expected "struct", found "record"'],
    ['{"type":"struct","fields":[]}', '1:27', 'expected at least one field'],
    ['{"fields":[{"name":"a","type":"long"}]}', '1:12', "expected a field with `nullable` (Spark's JSON)"],
    ['{"fields":\n [{"nullable":1,"name":"a","type":"int"}]}', '2:15', 'expected true or false, found 1'],
    ['{"fields":[{"nullable":true,"name":"","type":"int"}]}', '1:36', 'a field has no name, found ""'],
    ['{"fields":[{"nullable":true,"name":"a","type":"int"},\n7]}', '2:1', 'fields[1]: expected an object'],
    ['{"a":}', '1:6', 'this is no JSON'],
    ['{"a":', '1:6', 'this is no JSON'],
    ['{"a":1} x', '1:9', 'this is no JSON'],
  ])('%s', (text, place, message) => {
    const fault = faultOf(text);
    expect(fault.message).toContain(message);
    expect(`${fault.context['line']}:${fault.context['column']}`).toBe(place);
  });

  it('ends, however deep or wide it is', () => {
    expect(faultOf('['.repeat(500_000)).message).toMatch(/nested too deep|no JSON/);
    expect(faultOf(`{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`).message).toMatch(
      /nested too deep|fields/,
    );
    // As YAML builds them of anchors: a type that holds itself, and one that doubles at each of 60 levels.
    const self: Record<string, unknown> = { type: 'array', containsNull: true };
    self['elementType'] = self;
    expect(faultOf(spark(sparkField('a', self))).message).toContain('nested more than 100 deep');
    let wide: unknown = 'int';
    for (let i = 0; i < 60; i++)
      wide = { type: 'map', keyType: wide, valueType: wide, valueContainsNull: true };
    expect(faultOf(spark(sparkField('a', wide))).message).toContain('more than 20000 types');
  });
});
