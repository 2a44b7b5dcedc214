/**
 * One real broker with a listener for each way to secure a connection, users, and ACLs (StandardAuthorizer). Only on a Java broker:
 * it reads its certificates from files of this machine.
 */
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Broker, kafkaRuntime, startBroker } from '../../scripts/lib/kafka.mjs';
import { freePort } from '../../scripts/lib/net.mjs';
import type { Api } from '../../src/kafka/messages/api.ts';
import { type Authority, createAuthority, hasOpenssl, type Identity } from './certificates.ts';
import { withCluster } from './kafka-topics.ts';
import { startTokenServer, type TokenServer } from './token-server.ts';

export type Listener = 'ssl' | 'mtls' | 'expired' | 'wrongname' | 'sasl' | 'saslssl' | 'plainonly' | 'oauth';

/** Who may read what: ALICE reads every topic, BOB none, and everybody may come by the plain listener, which is for the test itself. */
export const ALICE = { username: 'alice', password: 'alice-secret-1' };
export const BOB = { username: 'bob', password: 'bob-secret-2' };
/** Stored as Kafka's tools do it, and as RFC 5802 has it: by SASLprep it is another text. */
export const ODD_PASSWORD = 'pass\u00a0word\u2168';
export const ODD_PASSWORD_PREPARED = 'pass wordIX';

export interface SecureKafka {
  /** `host:port` by listener; `plain` for set-up. */
  at(listener: Listener | 'plain'): string;
  authority: Authority;
  stranger: Authority;
  client: Identity;
  expiredClient: Identity;
  strangeClient: Identity;
  tokens: TokenServer;
  directory: string;
  broker: Broker;
  close(): Promise<void>;
}

/** Why the broker cannot be had here; undefined where it can. */
export async function secureKafkaLacks(): Promise<string | undefined> {
  if ((await kafkaRuntime()).kind !== 'java')
    return 'needs a Java broker, which reads certificates of this machine';
  return (await hasOpenssl()) ? undefined : 'needs openssl';
}

const PROTOCOLS: Record<Listener, string> = {
  ssl: 'SSL',
  mtls: 'SSL',
  expired: 'SSL',
  wrongname: 'SSL',
  sasl: 'SASL_PLAINTEXT',
  saslssl: 'SASL_SSL',
  plainonly: 'SASL_PLAINTEXT',
  oauth: 'SASL_PLAINTEXT',
};

export async function startSecureKafka(): Promise<SecureKafka> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-security-'));
  const tokens = await startTokenServer('carol');
  try {
    const authority = await createAuthority(directory, 'authority');
    const stranger = await createAuthority(directory, 'stranger');
    const server = await authority.issue('broker');
    const expired = await authority.issue('old-broker', { expired: true });
    const elsewhere = await authority.issue('elsewhere', { altNames: 'DNS:kafka.example.org' });
    const client = await authority.issue('client', { altNames: 'DNS:client' });
    const expiredClient = await authority.issue('old-client', { altNames: 'DNS:client', expired: true });
    const strangeClient = await stranger.issue('strange-client');
    const jwks = join(directory, 'jwks.json');
    await writeFile(jwks, tokens.jwks);
    const ports = new Map<Listener, number>();
    for (const name of Object.keys(PROTOCOLS) as Listener[])
      ports.set(name, await freePort([...ports.values()]));
    const stores: Partial<Record<Listener, string>> = { expired: expired.store, wrongname: elsewhere.store };
    const broker = await startBroker({
      properties: properties({ ports, stores, store: server.store, authority, jwks }),
      javaOptions: [
        '-XX:TieredStopAtLevel=1',
        '-XX:+UseSerialGC',
        `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${pathToFileURL(jwks).href}`,
      ],
    });
    await setUp(broker.bootstrap);
    return {
      at: (listener) => (listener === 'plain' ? broker.bootstrap : `127.0.0.1:${ports.get(listener)}`),
      authority,
      stranger,
      client,
      expiredClient,
      strangeClient,
      tokens,
      directory,
      broker,
      close: async () => {
        await Promise.all([tokens.close(), broker.stop()]);
        await rm(directory, { recursive: true });
      },
    };
  } catch (e) {
    await tokens.close();
    await rm(directory, { recursive: true });
    throw e;
  }
}

interface Places {
  ports: Map<Listener, number>;
  stores: Partial<Record<Listener, string>>;
  store: string;
  authority: Authority;
  jwks: string;
}

const OWN_LISTENERS = 'PLAINTEXT://${bindHost}:${port},CONTROLLER://${bindHost}:${controllerPort}';
const OWN_ADVERTISED = 'PLAINTEXT://${advertisedHost}:${advertisedPort}';

function properties({ ports, stores, store, authority, jwks }: Places): Record<string, string | number> {
  const names = [...ports.keys()];
  const urls = names.map((name) => `${name.toUpperCase()}://127.0.0.1:${ports.get(name)}`).join(',');
  const plain = [ALICE, BOB].map(({ username, password }) => `user_${username}="${password}"`).join(' ');
  const modules = 'org.apache.kafka.common.security';
  const result: Record<string, string | number> = {
    listeners: `${OWN_LISTENERS},${urls}`,
    'advertised.listeners': `${OWN_ADVERTISED},${urls}`,
    'listener.security.protocol.map': [
      'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      ...names.map((name) => `${name.toUpperCase()}:${PROTOCOLS[name]}`),
    ].join(','),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'connection.failed.authentication.delay.ms': 10,
    'listener.name.mtls.ssl.client.auth': 'required',
    'listener.name.mtls.ssl.truststore.type': 'PEM',
    'listener.name.mtls.ssl.truststore.location': authority.file,
    'listener.name.sasl.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${plain};`,
    // So short that every test of a few seconds has to log in again.
    'listener.name.sasl.plain.connections.max.reauth.ms': 3000,
    'listener.name.plainonly.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${plain};`,
    'listener.name.saslssl.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${plain};`,
    'listener.name.oauth.oauthbearer.sasl.jaas.config': `${modules}.oauthbearer.OAuthBearerLoginModule required;`,
    'listener.name.oauth.oauthbearer.sasl.server.callback.handler.class': `${modules}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    'listener.name.oauth.sasl.oauthbearer.jwks.endpoint.url': pathToFileURL(jwks).href,
  };
  const mechanisms: Partial<Record<Listener, string>> = {
    sasl: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    saslssl: 'PLAIN,SCRAM-SHA-512',
    plainonly: 'PLAIN',
    oauth: 'OAUTHBEARER',
  };
  for (const name of names) {
    if (mechanisms[name] !== undefined)
      result[`listener.name.${name}.sasl.enabled.mechanisms`] = mechanisms[name];
    for (const scram of ['SCRAM-SHA-256', 'SCRAM-SHA-512']) {
      if (mechanisms[name]?.includes(scram))
        result[`listener.name.${name}.${scram.toLowerCase()}.sasl.jaas.config`] =
          `${modules}.scram.ScramLoginModule required;`;
    }
    if (!PROTOCOLS[name].endsWith('SSL')) continue;
    result[`listener.name.${name}.ssl.keystore.type`] = 'PEM';
    result[`listener.name.${name}.ssl.keystore.location`] = stores[name] ?? store;
  }
  return result;
}

const SCRAM = { 'SCRAM-SHA-256': [1, 'sha256', 32], 'SCRAM-SHA-512': [2, 'sha512', 64] } as const;

interface ScramUser {
  username: string;
  mechanism: keyof typeof SCRAM;
  password: string;
}

/** AlterUserScramCredentials (51). */
const alterScram: Api<readonly ScramUser[], number[]> = {
  name: 'AlterUserScramCredentials',
  key: 51,
  min: 0,
  max: 0,
  flexibleFrom: 0,
  write(w, users) {
    w.arrayLength(0).array(users, ({ username, mechanism, password }) => {
      const [type, hash, size] = SCRAM[mechanism];
      const salt = randomBytes(16);
      const salted = pbkdf2Sync(password, salt, 4096, size, hash);
      w.string(username).int8(type).int32(4096);
      w.bytesLength(salt.length).raw(salt).bytesLength(salted.length).raw(salted).tags();
    });
    w.tags();
  },
  read(r) {
    r.int32();
    const codes = r.array(() => {
      r.string();
      const code = r.int16();
      r.nullableString();
      r.tags();
      return code;
    });
    r.tags();
    return codes;
  },
};

/** CreateAcls (30): each principal may do `operation` (3 READ, 8 DESCRIBE) on topics that begin with `prefix`. */
const createAcls: Api<readonly { principal: string; prefix: string; operation: number }[], number[]> = {
  name: 'CreateAcls',
  key: 30,
  min: 2,
  max: 3,
  flexibleFrom: 2,
  write(w, acls) {
    w.array(acls, ({ principal, prefix, operation }) =>
      w.int8(2).string(prefix).int8(4).string(principal).string('*').int8(operation).int8(3).tags(),
    ).tags();
  },
  read(r) {
    r.int32();
    const codes = r.array(() => {
      const code = r.int16();
      r.nullableString();
      r.tags();
      return code;
    });
    r.tags();
    return codes;
  },
};

/** Topics that begin with this may be read by those who may read at all; BOB only sees those that begin with SEEN. */
export const TOPICS = 'secured-';
export const SEEN = 'secured-seen-';

async function setUp(bootstrap: string): Promise<void> {
  await withCluster(bootstrap, async (cluster) => {
    const connection = await cluster.pool.any();
    const users: ScramUser[] = (['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).flatMap((mechanism) => [
      { ...ALICE, mechanism },
      { username: 'odd', mechanism, password: ODD_PASSWORD },
      { username: 'prepared', mechanism, password: ODD_PASSWORD_PREPARED },
    ]);
    const readers = ['User:alice', 'User:odd', 'User:prepared', 'User:carol', 'User:CN=client'];
    const codes = [
      ...(await connection.call(
        alterScram,
        users.filter((u) => u.mechanism === 'SCRAM-SHA-256'),
      )),
      ...(await connection.call(
        alterScram,
        users.filter((u) => u.mechanism === 'SCRAM-SHA-512'),
      )),
      ...(await connection.call(createAcls, [
        ...readers.map((principal) => ({ principal, prefix: TOPICS, operation: 3 })),
        { principal: 'User:bob', prefix: SEEN, operation: 8 },
      ])),
    ];
    if (codes.some((code) => code !== 0))
      throw new Error(`the broker refused to set up users: ${codes.join(' ')}`);
  });
}
