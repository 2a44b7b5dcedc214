import { describe, expect, it } from 'vitest';
import type { RegisteredSchema } from '../../../../src/core/value-format.ts';
import { recordName } from '../../../../src/decode/avro/record-name.ts';

const registered = (schema: unknown, type: RegisteredSchema['type'] = 'AVRO'): RegisteredSchema => ({
  id: 7,
  type,
  schema: typeof schema === 'string' ? schema : JSON.stringify(schema),
  references: [],
});
const record = (names: object) => ({ type: 'record', fields: [{ name: 'n', type: 'long' }], ...names });

describe('recordName', () => {
  it.each([
    [record({ name: 'A' }), 'A'],
    [record({ name: 'A', namespace: 'x.y' }), 'x.y.A'],
    [record({ name: 'z.A', namespace: 'x.y' }), 'z.A'],
    [record({ name: 'A', namespace: '' }), 'A'],
    ['"long"', ''],
    [['null', record({ name: 'A' })], ''],
  ])('of %j is %s', (schema, fullName) => expect(recordName(registered(schema))).toEqual({ fullName }));

  it.each([
    ['{"type":"record","name":"A', 'AVRO', /schema 7 of the registry cannot be used: no JSON/],
    ['{"type":"record","name":"A","fields":[{"name":"n","type":"B"}]}', 'AVRO', /"B" is not defined/],
    ['syntax = "proto3";', 'PROTOBUF', /schema 7 of the registry is of type PROTOBUF, not AVRO/],
  ] as const)('says what keeps %j from being one', (schema, type, message) =>
    expect(recordName(registered(schema, type))).toEqual({ unusable: expect.stringMatching(message) }),
  );
});
