import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NestedField } from '../../../src/core/schema.ts';
import type { JsonSchemaFormat, RegisteredSchema } from '../../../src/core/value-format.ts';
import { createAvroDecoder } from '../../../src/decode/avro/avro-decoder.ts';
import { avroToIceberg } from '../../../src/decode/avro/avro-to-iceberg.ts';
import type { SchemaDecoder } from '../../../src/decode/create-decoder.ts';
import { createJsonSchemaDecoder } from '../../../src/decode/json-schema/json-schema-decoder.ts';
import { jsonSchemaToIceberg } from '../../../src/decode/json-schema/json-schema-to-iceberg.ts';
import { createProtobufDecoder } from '../../../src/decode/protobuf/protobuf-decoder.ts';
import { protobufToIceberg } from '../../../src/decode/protobuf/protobuf-to-iceberg.ts';
import { RegistryClient } from '../../../src/decode/registry/registry-client.ts';
import { avroFormat, avscType, framed, type Plain, plainValue, valuesOf } from '../../support/avro.ts';
import { useKafka } from '../../support/kafka.ts';
import { protobufFormat, protoValue } from '../../support/protobuf.ts';
import { registryMissing, startRegistry, type TestRegistry } from '../../support/registry.ts';

const missing = await registryMissing();

describe.skipIf(missing !== undefined)(
  `values of a real Schema Registry${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let registry: TestRegistry;
    let client: RegistryClient;

    beforeAll(async () => {
      registry = await startRegistry(useKafka().bootstrap);
      client = await RegistryClient.create({ 'schema.registry.url': registry.url });
    });
    afterAll(async () => {
      client?.close();
      await registry?.stop();
    });

    async function latest(subject: string): Promise<RegisteredSchema> {
      const schema = await client.latest(subject);
      if (schema === null) throw new Error(`${subject} is not registered`);
      return schema;
    }

    /** Asks the registry for what the decoder misses, as the engine does, and decodes. */
    async function rows(decoder: SchemaDecoder, fields: readonly NestedField[], values: readonly Buffer[]) {
      const block = valuesOf(values);
      for (const [id, schema] of await client.schemas(decoder.missingSchemas(block))) {
        if (schema === null) decoder.markUnknown(id);
        else decoder.addSchema(schema);
      }
      expect(decoder.missingSchemas(block)).toEqual([]);
      decoder.decode(block);
      const faults = decoder.faults.map(({ row, reason }) => `${row} ${reason}`);
      const found = values.map(
        (_, row): Record<string, Plain> =>
          Object.fromEntries(fields.map((f, i) => [f.name, plainValue(f.type, decoder.columns[i], row)])),
      );
      return { found, faults };
    }

    it('Protobuf, whose messages import others', async () => {
      const money =
        'syntax = "proto3"; package shop; message Money { int64 units = 1; string currency = 2; }';
      const order = `syntax = "proto3"; package shop; import "money.proto"; import "google/protobuf/timestamp.proto";
      message Order { int64 id = 1; Money price = 2; repeated Line lines = 3; google.protobuf.Timestamp at = 4;
        message Line { string sku = 1; uint32 quantity = 2; } }
      message Cancelled { int64 id = 1; }`;
      await registry.register('money', { schema: money, schemaType: 'PROTOBUF' });
      const id = await registry.register('orders-value', {
        schema: order,
        schemaType: 'PROTOBUF',
        references: [{ name: 'money.proto', subject: 'money', version: 1 }],
      });
      const { fields } = protobufToIceberg(await latest('orders-value'), null);
      expect(fields.map((f) => f.name)).toEqual(['id', 'price', 'lines', 'at']);

      const root = new protobuf.Root();
      for (const text of [money, order]) protobuf.parse(text, root, { keepCase: true });
      protobuf.parse(
        'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }',
        root,
      );
      const encode = (name: string, value: object): Uint8Array => {
        const type = root.lookupType(name);
        return type.encode(type.fromObject(value)).finish();
      };
      const body = encode('shop.Order', {
        id: 7,
        price: { units: 1999, currency: 'EUR' },
        lines: [{ sku: 'a', quantity: 2 }, { sku: 'b' }],
        at: { seconds: 1_784_000_106, nanos: 5000 },
      });
      const cancelled = encode('shop.Cancelled', { id: 8 });
      const values = [
        protoValue(id, body),
        protoValue(id, cancelled, Uint8Array.of(2, 2)),
        protoValue(id + 1000, body),
        Buffer.from('plain'),
      ];
      const { found, faults } = await rows(createProtobufDecoder(fields, protobufFormat()), fields, values);
      expect(found.slice(0, 2)).toEqual([
        {
          id: 7n,
          price: { units: 1999n, currency: 'EUR' },
          lines: [
            { sku: 'a', quantity: 2n },
            { sku: 'b', quantity: 0n },
          ],
          at: 1_784_000_106_000_005n,
        },
        { id: 8n, price: null, lines: null, at: null },
      ]);
      expect(faults).toEqual(['2 UNKNOWN_SCHEMA_ID', '3 BAD_MAGIC']);
    });

    it('JSON Schema, whose documents refer to others', async () => {
      const draft = { $schema: 'http://json-schema.org/draft-07/schema#' };
      const address = {
        ...draft,
        type: 'object',
        properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
        required: ['city'],
      };
      const person = {
        ...draft,
        type: 'object',
        properties: {
          id: { type: 'integer' },
          born: { type: 'string', format: 'date' },
          home: { $ref: 'address.json' },
        },
        required: ['id'],
      };
      await registry.register('address', { schema: JSON.stringify(address), schemaType: 'JSON' });
      const id = await registry.register('people-value', {
        schema: JSON.stringify(person),
        schemaType: 'JSON',
        references: [{ name: 'address.json', subject: 'address', version: 1 }],
      });
      const { schema, references } = await latest('people-value');
      const { fields } = jsonSchemaToIceberg(schema, references);
      expect(fields.map((f) => [f.name, f.required])).toEqual([
        ['id', true],
        ['born', false],
        ['home', false],
      ]);
      const value = (document: unknown): Buffer => framed(id, Buffer.from(JSON.stringify(document)));
      const values = [
        value({ id: 1, born: '1970-01-03', home: { city: 'Ulm', zip: null } }),
        value({ born: null }),
        framed(id + 1000, Buffer.from('{}')),
      ];
      const format: JsonSchemaFormat = {
        format: 'json-schema',
        mode: 'quarantine',
        corruptRecordColumn: null,
        timeZone: 'UTC',
        compat: 'strict',
        unknownFields: 'ignore',
        caseInsensitive: false,
        timestampUnit: 'millis',
        decimalRounding: 'refuse',
        nullDocument: 'quarantine',
      };
      const { found, faults } = await rows(createJsonSchemaDecoder(fields, format), fields, values);
      expect(found[0]).toEqual({ id: 1n, born: 2, home: { city: 'Ulm', zip: null } });
      expect(faults).toEqual(['1 MISSING_REQUIRED', '2 UNKNOWN_SCHEMA_ID']);
    });

    it('Avro, whose records name others; another version later', async () => {
      const tier = { type: 'enum', name: 'Tier', namespace: 'shop', symbols: ['FREE', 'PAID'] };
      const user = (more: object[]) => ({
        type: 'record',
        name: 'User',
        namespace: 'shop',
        fields: [{ name: 'id', type: 'long' }, { name: 'tier', type: 'shop.Tier' }, ...more],
      });
      await registry.register('tier', { schema: JSON.stringify(tier) });
      const references = [{ name: 'shop.Tier', subject: 'tier', version: 1 }];
      const register = (more: object[]) =>
        registry.register('users-value', { schema: JSON.stringify(user(more)), references });
      const first = await register([]);
      const second = await register([{ name: 'note', type: ['null', 'string'], default: null }]);
      const latestUser = await latest('users-value');
      expect(latestUser.id).toBe(second);
      const { fields } = avroToIceberg(latestUser.schema, latestUser.references);

      const inline = (more: object[]) => {
        const record = user(more);
        const fields = record.fields.map((f) =>
          'name' in f && f.name === 'tier' ? { name: 'tier', type: tier } : f,
        );
        return avscType({ ...record, fields });
      };
      const values = [
        framed(first, inline([]).toBuffer({ id: 1n, tier: 'PAID' })),
        framed(
          second,
          inline([{ name: 'note', type: ['null', 'string'], default: null }]).toBuffer({
            id: 2n,
            tier: 'FREE',
            note: { string: 'n' },
          }),
        ),
      ];
      const { found, faults } = await rows(
        createAvroDecoder(fields, avroFormat({ framing: 'confluent' })),
        fields,
        values,
      );
      expect(faults).toEqual([]);
      expect(found).toEqual([
        { id: 1n, tier: 'PAID', note: null },
        { id: 2n, tier: 'FREE', note: 'n' },
      ]);
    });
  },
);
