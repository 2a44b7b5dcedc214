import { describe, expect, it } from 'vitest';
import {
  canonicalForm,
  fingerprint64,
  schemaFingerprint,
} from '../../../../src/decode/avro/canonical-form.ts';
import { parseAvroSchema } from '../../../../src/decode/avro/schema-parser.ts';

/** Schema, canonical form and fingerprint as Avro's Java library 1.12.0 gives them (SchemaNormalization). */
const JAVA: readonly (readonly [schema: unknown, form: string, fingerprint: string])[] = [
  ['null', '"null"', '63dd24e7cc258f8a'],
  ['string', '"string"', '8f014872634503c7'],
  [{ type: 'int', logicalType: 'date' }, '"int"', '7275d51a3f395c8f'],
  [
    { type: 'fixed', name: 'Md5', size: 16, doc: 'x' },
    '{"name":"Md5","type":"fixed","size":16}',
    '60923a4ff9975205',
  ],
  [
    { type: 'enum', name: 'a.b.Suit', symbols: ['HEARTS', 'CLUBS'], default: 'CLUBS' },
    '{"name":"a.b.Suit","type":"enum","symbols":["HEARTS","CLUBS"]}',
    '1621e260e59977fe',
  ],
  [
    ['null', { type: 'array', items: { type: 'map', values: 'long' } }],
    '["null",{"type":"array","items":{"type":"map","values":"long"}}]',
    '87b5e7998de2c313',
  ],
  [
    {
      type: 'record',
      name: 'Node',
      namespace: 'com.example',
      aliases: ['Old'],
      fields: [
        {
          name: 'value',
          type: { type: 'long', logicalType: 'timestamp-millis' },
          default: 1,
          order: 'ignore',
        },
        { name: 'next', type: ['null', 'Node'], doc: 'd' },
        { name: 'id', type: { type: 'fixed', name: 'Id', namespace: '', size: 4 } },
        { name: 'again', type: 'Id' },
      ],
    },
    '{"name":"com.example.Node","type":"record","fields":[{"name":"value","type":"long"},{"name":"next","type":["null","com.example.Node"]},{"name":"id","type":{"name":"Id","type":"fixed","size":4}},{"name":"again","type":"Id"}]}',
    'b1a5e6236839eaa6',
  ],
];

describe('the parsing canonical form', () => {
  it.each(JAVA)('of %j, and its fingerprint, are those of Java', (json, form, fingerprint) => {
    const schema = parseAvroSchema(JSON.stringify(json));
    expect(canonicalForm(schema)).toBe(form);
    expect(fingerprint64(new TextEncoder().encode(form)).toString(16).padStart(16, '0')).toBe(fingerprint);
    const bytes = Buffer.from(schemaFingerprint(schema));
    expect(bytes.readBigUInt64LE().toString(16).padStart(16, '0')).toBe(fingerprint);
  });
});
