import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readClientSettings } from '../../../../src/kafka/client-options.ts';
import { TlsMaterial } from '../../../../src/kafka/security/tls-material.ts';
import {
  type Authority,
  createAuthority,
  hasOpenssl,
  type Identity,
  openssl,
} from '../../../support/certificates.ts';

const available = await hasOpenssl();

describe.skipIf(!available)(`TLS material${available ? '' : ' (needs openssl)'}`, () => {
  let directory: string;
  let authority: Authority;
  let identity: Identity;
  let other: Identity;
  const at = (name: string): string => join(directory, name);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-tls-'));
    authority = await createAuthority(directory, 'ca');
    identity = await authority.issue('one');
    other = await authority.issue('two');
    await writeFile(at('one.key'), identity.key);
    await writeFile(at('one.crt'), identity.certificate);
    await openssl('pkcs8', '-topk8', '-in', at('one.key'), '-out', at('locked.key'), '-passout', 'pass:k3y');
    await openssl(
      'pkcs12',
      '-export',
      '-in',
      identity.store,
      '-out',
      at('one.p12'),
      '-passout',
      'pass:st0re',
    );
    await writeFile(at('old.jks'), Buffer.from('feedfeed0000000200000001', 'hex'));
    await writeFile(at('junk'), 'junk');
  });

  afterAll(() => rm(directory, { recursive: true }));

  const context = (ssl: Record<string, string>) => {
    const options = Object.entries(ssl).map(([key, value]) => [`kafka.ssl.${key}`, value]);
    const kafka = { 'security.protocol': 'SSL', ...Object.fromEntries(options) };
    const { security } = readClientSettings({
      bootstrapServers: 'a:1',
      clientId: 't',
      kafka,
      requestDeadlineMs: 1,
    });
    return new TlsMaterial(security!.tls!).secureContext();
  };

  it('is made of every form of PEM, and of PKCS12 with a key', async () => {
    const locked = await readFile(at('locked.key'), 'utf8');
    const text = { 'keystore.certificate.chain': identity.certificate, 'keystore.key': identity.key };
    const all: Record<string, string>[] = [
      {},
      { 'truststore.location': authority.file, 'truststore.type': 'PEM' },
      { 'truststore.certificates': authority.certificate.replaceAll('\n', ' ') },
      { 'keystore.location': identity.store, 'keystore.type': 'PEM' },
      text,
      { ...text, 'keystore.key': locked, 'key.password': 'k3y' },
      { 'keystore.location': at('one.p12'), 'keystore.type': 'PKCS12', 'keystore.password': 'st0re' },
      { 'keystore.location': at('one.p12'), 'keystore.password': 'st0re' },
    ];
    for (const ssl of all) expect(await context(ssl)).toBeDefined();
  });

  it('is parsed again only when a file has changed', async () => {
    const file = at('changing.pem');
    await writeFile(file, authority.certificate);
    const { security } = readClientSettings({
      bootstrapServers: 'a:1',
      clientId: 't',
      kafka: { 'security.protocol': 'SSL', 'ssl.truststore.location': file },
      requestDeadlineMs: 1,
    });
    const material = new TlsMaterial(security!.tls!);
    const first = await material.secureContext();
    expect(await material.secureContext()).toBe(first);
    await writeFile(file, authority.certificate + identity.certificate);
    expect(await material.secureContext()).not.toBe(first);
  });

  it.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    [
      'a file that is not there',
      async () => ({ 'truststore.location': at('none') }),
      /truststore\.location: the file .*none cannot be read \(there is none\)/,
    ],
    [
      'a truststore without certificates',
      async () => ({ 'truststore.location': at('one.key') }),
      /no certificate/,
    ],
    ['junk', async () => ({ 'truststore.location': at('junk') }), /neither PEM nor/],
    [
      'a damaged certificate',
      async () => ({ 'truststore.certificates': identity.certificate.replace(/\n.{9}/, '\nAAAAAAAAA') }),
      /certificate 1 cannot be read/,
    ],
    [
      'a JKS store',
      async () => ({ 'truststore.location': at('old.jks') }),
      /JKS store.*keytool -importkeystore .*openssl pkcs12 .*-nokeys/,
    ],
    [
      'a JKS store with a key',
      async () => ({ 'keystore.location': at('old.jks'), 'keystore.type': 'JKS' }),
      /JKS store.*keytool .*-nodes/,
    ],
    [
      'a PKCS12 store of authorities',
      async () => ({ 'truststore.location': at('one.p12') }),
      /PKCS12 store.*`openssl pkcs12 -in .*one\.p12 -nokeys/,
    ],
    [
      'PEM that is said to be JKS',
      async () => ({ 'truststore.location': authority.file, 'truststore.type': 'JKS' }),
      /truststore\.type: it says JKS, but the store is PEM/,
    ],
    [
      'a certificate without a key',
      async () => ({ 'keystore.certificate.chain': identity.certificate }),
      /go together/,
    ],
    ['a keystore without a key', async () => ({ 'keystore.location': at('one.crt') }), /no private key/],
    [
      'the key of another certificate',
      async () => ({ 'keystore.certificate.chain': identity.certificate, 'keystore.key': other.key }),
      /does not belong/,
    ],
    [
      'a locked key without a password',
      async () => ({
        'keystore.certificate.chain': identity.certificate,
        'keystore.key': await readFile(at('locked.key'), 'utf8'),
      }),
      /key\.password: the key is encrypted/,
    ],
    [
      'a wrong password of the key',
      async () => ({
        'keystore.certificate.chain': identity.certificate,
        'keystore.key': await readFile(at('locked.key'), 'utf8'),
        'key.password': 'hunter2',
      }),
      /key\.password: it does not open/,
    ],
    [
      'a wrong password of the store',
      async () => ({ 'keystore.location': at('one.p12'), 'keystore.password': 'hunter2' }),
      /keystore\.password: it does not open/,
    ],
  ])('refuses %s, and shows no secret', async (_what, ssl, message) => {
    const options = await ssl();
    const making = context(options);
    await expect(making).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
    });
    const error = await making.catch((e: Error) => e.message);
    expect(error).not.toMatch(/hunter2|PRIVATE KEY-----\n/);
    expect(error).not.toContain(identity.key.split('\n')[1]);
  });
});
