import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  RegistryClient,
  type RegistryHost,
  type RegistryOptions,
} from '../../../../src/decode/registry/registry-client.ts';
import {
  type Authority,
  createAuthority,
  hasOpenssl,
  type Identity,
  openssl,
} from '../../../support/certificates.ts';
import { FakeRegistry } from '../../../support/fake-registry.ts';

const SCHEMAS = [{ id: 7, subject: 'a', version: 1, schema: '"int"' }];

describe.skipIf(!(await hasOpenssl()))('a registry behind TLS (needs openssl)', () => {
  let directory: string;
  let authority: Authority;
  let other: Authority;
  let server: Identity;
  let registry: FakeRegistry;
  let clockMs = 0;
  const host: RegistryHost = {
    now: () => clockMs,
    random: () => 0,
    sleep: async (ms) => {
      clockMs += ms;
    },
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-registry-tls-'));
    authority = await createAuthority(directory, 'one');
    other = await createAuthority(directory, 'two');
    server = await authority.issue('registry');
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));
  afterEach(() => registry?.down());

  async function ask(options: Partial<RegistryOptions>): Promise<number | undefined> {
    const client = await RegistryClient.create({ 'schema.registry.url': registry.url, ...options }, host);
    try {
      return (await client.schema(7))?.id;
    } finally {
      client.close();
    }
  }

  const trusted = (): Partial<RegistryOptions> => ({
    'schema.registry.ssl.truststore.location': authority.file,
  });

  it('is trusted by its authority, and not without it', async () => {
    registry = await FakeRegistry.start(SCHEMAS, { cert: server.certificate, key: server.key });
    expect(await ask(trusted())).toBe(7);
    const untrusted = { 'schema.registry.ssl.truststore.location': other.file };
    await expect(ask(untrusted)).rejects.toMatchObject({ code: 'REGISTRY_CONFIG' });
    await expect(ask({})).rejects.toThrow('the connection could not be secured');
    expect(registry.asked).toHaveLength(1);
  });

  it('is refused with an expired certificate, and with one for another name unless that is turned off', async () => {
    const expired = await authority.issue('expired', { expired: true });
    registry = await FakeRegistry.start(SCHEMAS, { cert: expired.certificate, key: expired.key });
    await expect(ask(trusted())).rejects.toThrow(/REGISTRY_CONFIG.*certificate has expired/);
    await registry.down();
    const named = await authority.issue('elsewhere', { altNames: 'DNS:elsewhere.example' });
    registry = await FakeRegistry.start(SCHEMAS, { cert: named.certificate, key: named.key });
    await expect(ask(trusted())).rejects.toMatchObject({ code: 'REGISTRY_CONFIG' });
    expect(await ask({ ...trusted(), 'schema.registry.ssl.endpoint.identification.algorithm': '' })).toBe(7);
  });

  it('asks for our certificate', async () => {
    const tls = {
      cert: server.certificate,
      key: server.key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    };
    registry = await FakeRegistry.start(SCHEMAS, tls);
    const own = await authority.issue('us');
    expect(await ask({ ...trusted(), 'schema.registry.ssl.keystore.location': own.store })).toBe(7);
    await expect(ask(trusted())).rejects.toMatchObject({ name: 'SluiceError' });
    expect(registry.asked).toHaveLength(1);
    const locked = join(directory, 'locked.pem');
    await openssl(
      'pkcs8',
      '-topk8',
      '-v2',
      'aes-256-cbc',
      '-in',
      await keyFile(own),
      '-out',
      locked,
      '-passout',
      'pass:pw',
    );
    await writeFile(locked, (await readFile(locked, 'utf8')) + own.certificate);
    const withKey = { ...trusted(), 'schema.registry.ssl.keystore.location': locked };
    expect(await ask({ ...withKey, 'schema.registry.ssl.key.password': 'pw' })).toBe(7);
    await expect(ask({ ...withKey, 'schema.registry.ssl.key.password': 'no' })).rejects.toThrow(
      'schema.registry.ssl.key.password',
    );
    await expect(
      ask({ ...trusted(), 'schema.registry.ssl.keystore.location': authority.file }),
    ).rejects.toThrow('holds no -----BEGIN PRIVATE KEY-----');
  });

  it('may get a new authority while a client runs; a file that is just being replaced is waited for', async () => {
    registry = await FakeRegistry.start(SCHEMAS, { cert: server.certificate, key: server.key });
    const file = join(directory, 'trusted.pem');
    await writeFile(file, authority.certificate);
    const options = { 'schema.registry.url': registry.url, 'schema.registry.ssl.truststore.location': file };
    const client = await RegistryClient.create(options, host);
    try {
      expect((await client.schema(7))?.id).toBe(7);
      const renewed = await other.issue('registry');
      await registry.down();
      await registry.secure({ cert: renewed.certificate, key: renewed.key });
      registry.schemas.push({ ...SCHEMAS[0], id: 8 });
      await writeFile(file, '');
      clockMs += 60_000;
      await expect(client.schema(8)).rejects.toMatchObject({ code: 'REGISTRY_CONFIG' });
      await writeFile(file, other.certificate);
      clockMs += 60_000;
      expect((await client.schema(8))?.id).toBe(8);
    } finally {
      client.close();
    }
  });

  async function keyFile(identity: Identity): Promise<string> {
    const file = join(directory, 'own.key');
    await writeFile(file, identity.key);
    return file;
  }
});
