import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RegistryClient, type RegistryOptions } from '../../../src/decode/registry/registry-client.ts';
import { createAuthority, hasOpenssl } from '../../support/certificates.ts';
import { useKafka } from '../../support/kafka.ts';
import { registryMissing, startGate, startRegistry, type TestRegistry } from '../../support/registry.ts';

const missing = await registryMissing();
const withOpenssl = await hasOpenssl();
const AVRO = JSON.stringify({
  type: 'record',
  name: 'A',
  namespace: 'n',
  fields: [{ name: 'x', type: 'long' }],
});
const COMMON = 'syntax = "proto3"; package c; message Money { int64 units = 1; }';
const ORDER = 'syntax = "proto3"; import "common.proto"; message Order { c.Money price = 1; }';

describe.skipIf(missing !== undefined)(
  `a real Schema Registry${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let registry: TestRegistry;
    const clients: RegistryClient[] = [];

    beforeAll(async () => {
      registry = await startRegistry(useKafka().bootstrap);
    });
    afterAll(async () => {
      for (const client of clients) client.close();
      await registry?.stop();
    });

    async function open(options: Partial<RegistryOptions> = {}): Promise<RegistryClient> {
      const client = await RegistryClient.create({ 'schema.registry.url': registry.url, ...options });
      clients.push(client);
      return client;
    }

    it('gives schemas of all three types by id, and the latest of a subject', async () => {
      const client = await open();
      const avro = await registry.register('a-value', { schema: AVRO });
      const json = await registry.register('j-value', {
        schema: '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}',
        schemaType: 'JSON',
      });
      const proto = await registry.register('common', { schema: COMMON, schemaType: 'PROTOBUF' });
      const found = await client.schemas([avro, json, proto]);
      expect([...found.values()].map((schema) => schema?.type)).toEqual(['AVRO', 'JSON', 'PROTOBUF']);
      expect(JSON.parse(found.get(avro)?.schema ?? '')).toEqual(JSON.parse(AVRO));
      expect(await client.latest('a-value')).toMatchObject({ id: avro, subject: 'a-value', version: 1 });
      expect(await client.latest('never registered')).toBeNull();
    });

    it('gives what a schema refers to', async () => {
      const inner = JSON.stringify({ type: 'enum', name: 'Tier', namespace: 'n', symbols: ['A', 'B'] });
      await registry.register('tier', { schema: inner });
      const outer = JSON.stringify({
        type: 'record',
        name: 'B',
        namespace: 'n',
        fields: [{ name: 't', type: 'n.Tier' }],
      });
      const withAvro = await registry.register('b-value', {
        schema: outer,
        references: [{ name: 'n.Tier', subject: 'tier', version: 1 }],
      });
      await registry.register('common', { schema: COMMON, schemaType: 'PROTOBUF' });
      const withProto = await registry.register('order-value', {
        schema: ORDER,
        schemaType: 'PROTOBUF',
        references: [{ name: 'common.proto', subject: 'common', version: 1 }],
      });
      const client = await open();
      const avro = await client.schema(withAvro);
      expect(avro?.references.map(({ name, schema }) => [name, JSON.parse(schema).symbols])).toEqual([
        ['n.Tier', ['A', 'B']],
      ]);
      const proto = await client.schema(withProto);
      expect(proto?.references.map(({ name }) => name)).toEqual(['common.proto']);
      expect(proto?.references[0].schema).toContain('Money');
    });

    it('does not know ids that it never gave', async () => {
      const client = await open();
      expect(await client.schemas([987_654, 0, 2 ** 31 - 1])).toEqual(
        new Map([987_654, 0, 2 ** 31 - 1].map((id) => [id, null])),
      );
    });

    it('is told apart from another path of the same server', async () => {
      const client = await open({
        'schema.registry.url': new URL(registry.url).origin,
        'schema.registry.deadline.ms': 500,
      });
      await expect(client.schema(1)).rejects.toMatchObject({ code: 'REGISTRY_CONFIG' });
    });

    it('asks for a user and a password, or a token', async () => {
      const id = await registry.register('a-value', { schema: AVRO });
      const gate = await startGate(registry.url, { basic: 'ann:pass' });
      const bearer = await startGate(registry.url, { bearer: 'abc' });
      try {
        const url = { 'schema.registry.url': gate.url };
        expect((await (await open({ ...url, 'basic.auth.user.info': 'ann:pass' })).schema(id))?.id).toBe(id);
        const wrong = await open({ ...url, 'basic.auth.user.info': 'ann:other' });
        await expect(wrong.schema(id)).rejects.toMatchObject({ code: 'REGISTRY_AUTH' });
        const token = { 'schema.registry.url': bearer.url, 'bearer.auth.token': 'abc' };
        expect((await (await open(token)).schema(id))?.id).toBe(id);
      } finally {
        await gate.close();
        await bearer.close();
      }
    });

    it.skipIf(!withOpenssl)('stands behind TLS (needs openssl)', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'sluice-registry-gate-'));
      const authority = await createAuthority(directory, 'gate');
      const { certificate: cert, key } = await authority.issue('gate');
      const gate = await startGate(registry.url, { tls: { cert, key } });
      try {
        const id = await registry.register('a-value', { schema: AVRO });
        const options = {
          'schema.registry.url': gate.url,
          'schema.registry.ssl.truststore.location': authority.file,
        };
        expect((await (await open(options)).schema(id))?.id).toBe(id);
      } finally {
        await gate.close();
        await rm(directory, { recursive: true, force: true });
      }
    });

    it('that was killed is waited for, and knows again what it knew', async () => {
      const known = await registry.register('a-value', { schema: AVRO });
      const asked = await registry.register('killed-value', { schema: AVRO.replace('"A"', '"Killed"') });
      const client = await open();
      await client.schema(known);
      await registry.kill();
      const impatient = await open({ 'schema.registry.deadline.ms': 300 });
      await expect(impatient.schema(asked)).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
      expect((await client.schema(known))?.id).toBe(known);
      const waiting = client.schema(asked);
      await registry.start();
      expect((await waiting)?.schema).toContain('Killed');
      expect(await client.schema(asked + 1000)).toBeNull();
    });
  },
);
