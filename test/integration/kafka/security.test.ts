/** Every way to secure a connection, on one real broker that has a listener for each, its users and its ACLs. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { metadata } from '../../../src/kafka/messages/metadata.ts';
import { type Ended, sluice as runSluice } from '../../e2e/run-sluice.ts';
import { fill, withCluster } from '../../support/kafka-topics.ts';
import { collect, testClient } from '../../support/read-collector.ts';
import {
  ALICE,
  BOB,
  type Listener,
  ODD_PASSWORD,
  SEEN,
  type SecureKafka,
  secureKafkaLacks,
  startSecureKafka,
  TOPICS,
} from '../../support/secure-kafka.ts';
import { CLIENT } from '../../support/token-server.ts';

const lacking = await secureKafkaLacks();

type Options = Record<string, string>;
type At = Listener | 'plain';

// Much longer than a test may take: an error that only came at the deadline would fail it.
const DEADLINE_MS = 600_000;

describe.skipIf(lacking !== undefined)(
  `a secured broker${lacking === undefined ? '' : ` (${lacking})`}`,
  () => {
    let kafka: SecureKafka;
    let directory: string;
    const topic = `${TOPICS}orders`;
    const seen = `${SEEN}orders`;

    beforeAll(async () => {
      kafka = await startSecureKafka();
      directory = await mkdtemp(join(tmpdir(), 'sluice-secure-run-'));
      const plain = kafka.at('plain');
      await withCluster(plain, (cluster) =>
        cluster.createTopics([topic, seen].map((name) => ({ topic: name, partitions: 2 }))),
      );
      for (const partition of [0, 1]) await fill(plain, topic, partition, 50, { valueBytes: 5000 });
      await fill(plain, seen, 0, 5);
    });

    afterAll(async () => {
      await kafka?.close();
      if (directory !== undefined) await rm(directory, { recursive: true });
    });

    beforeEach(() => {
      kafka.tokens.answer = null;
      kafka.tokens.lifetime = 3600;
    });

    const trust = (): Options => ({ 'ssl.truststore.location': kafka.authority.file });
    const ssl = (): Options => ({ 'security.protocol': 'SSL', ...trust() });
    const login = (mechanism: string, user = ALICE): Options => ({
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': mechanism,
      'sasl.username': user.username,
      'sasl.password': user.password,
    });
    const oauth = (more: Options): Options => ({
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': 'OAUTHBEARER',
      ...more,
    });
    const endpoint = (more: Options = {}): Options =>
      oauth({
        'sasl.oauthbearer.token.endpoint.url': kafka.tokens.url,
        'sasl.oauthbearer.client.credentials.client.id': CLIENT.id,
        'sasl.oauthbearer.client.credentials.client.secret': CLIENT.secret,
        ...more,
      });

    const client = (listener: At, options: Options, more = {}) =>
      testClient(kafka.at(listener), { kafka: options, requestDeadlineMs: DEADLINE_MS, ...more });

    const connect = async (listener: At, options: Options): Promise<string | null> => {
      const cluster = await KafkaCluster.connect(client(listener, options));
      const id = cluster.clusterId;
      await cluster.close();
      return id;
    };

    describe('sluice run', () => {
      let runs = 0;

      /** Runs a pipeline over the topic until it has read all, with every option in the file. */
      async function run(
        listener: At,
        options: Options,
        env: Options = {},
        from = topic,
        command = ['run', '--log-level', 'debug'],
      ): Promise<Ended> {
        const name = `run-${++runs}`;
        const file = join(directory, `${name}.yaml`);
        const lines = Object.entries(options).map(
          ([key, value]) => `  kafka.${key}: ${JSON.stringify(value)}`,
        );
        await writeFile(
          file,
          `name: ${name}
checkpointLocation: ./${name}/checkpoint
catalog: { type: sqlite, uri: ./${name}.db, warehouse: ./${name} }
trigger: availableNow
memory: 128MB
source:
  kafka.bootstrap.servers: ${kafka.at(listener)}
  subscribe: ${from}
  startingOffsets: earliest
  workers: 2
  kafka.request.deadline: 10 minutes
${lines.join('\n')}
`,
        );
        return runSluice([...command, '-c', file, '-o', 'json'], { cwd: directory, env });
      }

      const errorOf = (ended: Ended): string => {
        const line = ended.stderr.trimEnd().split('\n').at(-1)!;
        const { code, message } = (JSON.parse(line) as { error: { code: string; message: string } }).error;
        return `${code}: ${message}`;
      };

      const expectRows = (ended: Ended): void => {
        if (ended.code !== 0) throw new Error(`ended with ${ended.code}:\n${ended.stderr}`);
        expect(JSON.parse(ended.stdout)).toMatchObject({ records: 100 });
      };

      it.each<[string, At, () => Options]>([
        [
          'TLS and a client certificate',
          'mtls',
          () => ({ ...ssl(), 'ssl.keystore.location': kafka.client.store }),
        ],
        [
          'SCRAM-SHA-512 over TLS',
          'saslssl',
          () => ({
            ...login('SCRAM-SHA-512'),
            'security.protocol': 'SASL_SSL',
            ...trust(),
            'sasl.password': 'env:KAFKA_PASSWORD',
          }),
        ],
        ['PLAIN', 'sasl', () => login('PLAIN')],
        ['SCRAM-SHA-256', 'sasl', () => login('SCRAM-SHA-256')],
      ])('reads by %s', async (_what, listener, options) => {
        const ended = await run(listener, options(), { KAFKA_PASSWORD: ALICE.password });
        expectRows(ended);
        expect(ended.stdout + ended.stderr).not.toContain(ALICE.password);
      });

      it("reads by Java's form of a login", async () => {
        const module = 'org.apache.kafka.common.security.scram.ScramLoginModule';
        const jaas = `${module} required username="${ALICE.username}" password="${ALICE.password}";`;
        const options = {
          'security.protocol': 'SASL_SSL',
          ...trust(),
          'sasl.mechanism': 'SCRAM-SHA-512',
          'sasl.jaas.config': 'env:JAAS',
        };
        expectRows(await run('saslssl', options, { JAAS: jaas }));
      });

      it('reads by tokens of an endpoint, one for all workers', async () => {
        const before = kafka.tokens.issued;
        const module = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule';
        const jaas = `${module} required clientId="${CLIENT.id}" clientSecret="${CLIENT.secret}";`;
        const ended = await run(
          'oauth',
          oauth({ 'sasl.oauthbearer.token.endpoint.url': kafka.tokens.url, 'sasl.jaas.config': jaas }),
        );
        expectRows(ended);
        expect(kafka.tokens.issued - before).toBe(1);
        expect(ended.stdout + ended.stderr).not.toContain(CLIENT.secret);
        expect(ended.stdout + ended.stderr).not.toMatch(/eyJ[\w-]+\./);
      });

      it('reads by tokens of a function', async () => {
        await writeFile(join(directory, 'token'), kafka.tokens.token());
        await writeFile(
          join(directory, 'sluice.config.mjs'),
          `import { readFile } from 'node:fs/promises';
export default {
  name: 'function', checkpointLocation: './function/checkpoint', trigger: 'availableNow', memory: '128MB',
  catalog: { type: 'sqlite', uri: './function.db', warehouse: './function' },
  source: {
    'kafka.bootstrap.servers': '${kafka.at('oauth')}', subscribe: '${topic}', startingOffsets: 'earliest', workers: 2,
    'kafka.security.protocol': 'SASL_PLAINTEXT', 'kafka.sasl.mechanism': 'OAUTHBEARER',
    'kafka.sasl.oauthbearer.token': () => readFile('token', 'utf8'),
  },
};`,
        );
        expectRows(await runSluice(['run', '-c', 'sluice.config.mjs', '-o', 'json'], { cwd: directory }));
      });

      it.each<[string, At, () => Options, RegExp]>([
        [
          'a wrong password',
          'saslssl',
          () => ({
            ...login('SCRAM-SHA-512', { ...ALICE, password: 'hunter2' }),
            'security.protocol': 'SASL_SSL',
            ...trust(),
          }),
          /KAFKA_AUTH: broker 127\.0\.0\.1:\d+ refused user "alice" by SCRAM-SHA-512/,
        ],
        [
          'a right that is missing',
          'sasl',
          () => login('PLAIN', BOB),
          /KAFKA_AUTH: .*TOPIC_AUTHORIZATION_FAILED.*User:bob lacks a right on the topic.*kafka-acls --add --allow-principal User:bob --operation Read --topic secured-orders/,
        ],
        [
          'an expired certificate',
          'expired',
          ssl,
          /KAFKA_TLS: broker 127\.0\.0\.1:\d+: its certificate.* has expired.*valid from Jan {2}1 00:00:00 2020/,
        ],
        [
          'an endpoint without an answer',
          'oauth',
          () => endpoint({ 'sasl.login.read.timeout.ms': '300' }),
          /KAFKA_AUTH: broker 127\.0\.0\.1:\d+: no token for OAUTHBEARER: the token endpoint http:.* did not answer within 0\.3 s/,
        ],
      ])('ends at once for %s, and shows no secret', async (_what, listener, options, message) => {
        kafka.tokens.answer = () => {};
        const ended = await run(listener, options());
        expect(ended.code).toBe(69);
        expect(errorOf(ended)).toMatch(message);
        expect(ended.stdout + ended.stderr).not.toMatch(/hunter2|bob-secret|a\+b\/c/);
      });

      it('ends at once where a topic may be seen, but not read', async () => {
        const ended = await run('sasl', login('PLAIN', BOB), {}, seen);
        expect(ended.code).toBe(69);
        expect(errorOf(ended)).toMatch(
          /KAFKA_AUTH: .*secured-seen-orders.*TOPIC_AUTHORIZATION_FAILED.*User:bob/,
        );
      });

      it('is told beforehand by validate --connect: of each topic by itself', async () => {
        const validate = (topics: string) =>
          run('sasl', login('PLAIN', BOB), {}, topics, ['validate', '--connect']);
        const checksOf = ({ stdout }: Ended): { what: string; result: string; code?: string }[] =>
          JSON.parse(stdout).checks;
        const onlySeen = await validate(seen);
        expect(onlySeen.code).toBe(69);
        expect(checksOf(onlySeen)).toMatchObject([
          { what: 'brokers', result: 'ok' },
          { what: 'topics', result: 'ok' },
          { what: `reading ${seen}`, result: 'failed', code: 'KAFKA_AUTH' },
          { what: 'warehouse', result: 'ok' },
          { what: 'checkpoint', result: 'ok' },
          { what: 'checkpoint state', result: 'ok' },
          { what: 'catalog', result: 'ok' },
          { what: 'tables', result: 'ok' },
        ]);
        expect(errorOf(onlySeen)).toMatch(/KAFKA_AUTH: .*User:bob.*--operation Read --topic secured-seen/);
        // A topic that may not even be seen, one that is not there, and one that is seen.
        const three = await validate(`${topic},secured-seen-none,${seen}`);
        expect(checksOf(three).filter((check) => check.result === 'failed')).toMatchObject([
          { what: `topic ${topic}`, code: 'KAFKA_AUTH' },
          { what: 'topic secured-seen-none', code: 'TOPIC_NOT_FOUND' },
        ]);
      });
    });

    it.each<[string, At, () => Options]>([
      ['TLS', 'ssl', ssl],
      ['TLS 1.2', 'ssl', () => ({ ...ssl(), 'ssl.enabled.protocols': 'TLSv1.2' })],
      [
        'TLS with the authority as text in one line',
        'ssl',
        () => ({
          'security.protocol': 'SSL',
          'ssl.truststore.certificates': kafka.authority.certificate.replaceAll('\n', '\\n'),
        }),
      ],
      [
        'a certificate for another name, unchecked',
        'wrongname',
        () => ({ ...ssl(), 'ssl.endpoint.identification.algorithm': '' }),
      ],
      [
        'a client certificate as text',
        'mtls',
        () => ({
          ...ssl(),
          'ssl.keystore.type': 'PEM',
          'ssl.keystore.certificate.chain': kafka.client.certificate,
          'ssl.keystore.key': kafka.client.key,
        }),
      ],
      [
        'SCRAM with a password of odd characters',
        'sasl',
        () => login('SCRAM-SHA-256', { username: 'odd', password: ODD_PASSWORD }),
      ],
      [
        'SCRAM with a password that was stored after SASLprep',
        'sasl',
        () => login('SCRAM-SHA-512', { username: 'prepared', password: ODD_PASSWORD }),
      ],
      [
        'a fixed token',
        'oauth',
        () =>
          oauth({
            'sasl.oauthbearer.token': kafka.tokens.token(),
            'sasl.oauthbearer.extensions': 'traceId=t1',
          }),
      ],
    ])('lets us in by %s', async (_what, listener, options) => {
      expect(await connect(listener, options())).toBe(kafka.broker.clusterId);
    });

    it.each<[string, At, () => Options]>([
      ['TLS', 'mtls', () => ({ ...ssl(), 'ssl.keystore.location': kafka.client.store })],
      [
        'a login over TLS',
        'saslssl',
        () => ({ ...login('PLAIN'), 'security.protocol': 'SASL_SSL', ...trust() }),
      ],
    ])(
      'reads every record by %s, also where frames are larger than what TLS hands on at once',
      async (_what, listener, options) => {
        const ranges = [0, 1].map((partition) => ({ topic, partition, from: 0n, until: 50n }));
        const { cursors, values } = await collect(kafka.at(listener), ranges, {
          client: { kafka: options(), requestDeadlineMs: DEADLINE_MS },
          budgetBytes: 2 * 1024 * 1024,
          values: true,
        });
        expect(cursors.map((c) => [c.rows, c.position])).toEqual([
          [50, 50n],
          [50, 50n],
        ]);
        expect(values.get(`${topic}-1`)?.[49]).toBe('v49'.padEnd(5000, '.'));
      },
    );

    it.each<[string, At, () => Options, string, RegExp]>([
      [
        'a wrong password of PLAIN',
        'sasl',
        () => login('PLAIN', { ...ALICE, password: 'hunter2' }),
        'KAFKA_AUTH',
        /refused user "alice" by PLAIN/,
      ],
      [
        'an unknown user',
        'sasl',
        () => login('SCRAM-SHA-256', { username: 'nobody', password: 'hunter2' }),
        'KAFKA_AUTH',
        /refused user "nobody" by SCRAM-SHA-256/,
      ],
      [
        'a wrong password of odd characters',
        'sasl',
        () => login('SCRAM-SHA-256', { username: 'odd', password: `${ODD_PASSWORD}x` }),
        'KAFKA_AUTH',
        /refused user "odd"/,
      ],
      [
        'a mechanism that is not enabled',
        'plainonly',
        () => login('SCRAM-SHA-512'),
        'KAFKA_AUTH',
        /SCRAM-SHA-512 is not enabled on this listener, which offers PLAIN/,
      ],
      [
        'another name in the certificate',
        'wrongname',
        ssl,
        'KAFKA_TLS',
        /certificate is for another name.*DNS:kafka\.example\.org/,
      ],
      [
        'an authority that is not trusted',
        'ssl',
        () => ({ 'security.protocol': 'SSL', 'ssl.truststore.location': kafka.stranger.file }),
        'KAFKA_TLS',
        /not signed by an authority that is trusted.*truststore.*issuer CN=authority/,
      ],
      [
        'the authorities of Node alone',
        'ssl',
        () => ({ 'security.protocol': 'SSL' }),
        'KAFKA_TLS',
        /not signed by an authority that is trusted/,
      ],
      [
        'no client certificate',
        'mtls',
        ssl,
        'KAFKA_AUTH',
        /wants a certificate of the client, and none is given/,
      ],
      [
        'no client certificate under TLS 1.2',
        'mtls',
        () => ({ ...ssl(), 'ssl.enabled.protocols': 'TLSv1.2' }),
        'KAFKA_AUTH',
        /wants a certificate of the client/,
      ],
      [
        'an expired client certificate',
        'mtls',
        () => ({ ...ssl(), 'ssl.keystore.location': kafka.expiredClient.store }),
        'KAFKA_AUTH',
        /refused the certificate of this client/,
      ],
      [
        'a client certificate of a stranger',
        'mtls',
        () => ({ ...ssl(), 'ssl.keystore.location': kafka.strangeClient.store }),
        'KAFKA_AUTH',
        /refused the certificate of this client/,
      ],
      [
        'a plain client at a TLS listener',
        'ssl',
        () => ({}),
        'KAFKA_TLS',
        /listener answers in TLS.*SSL or SASL_SSL/,
      ],
      [
        'a login without TLS at a TLS listener',
        'saslssl',
        () => login('PLAIN'),
        'KAFKA_TLS',
        /listener answers in TLS/,
      ],
      [
        'TLS at a plain listener',
        'plain',
        ssl,
        'KAFKA_TLS',
        /speaks Kafka without TLS.*protocol is SSL; set it to PLAINTEXT/,
      ],
      [
        'a login over TLS at a listener without TLS',
        'sasl',
        () => ({ ...login('PLAIN'), 'security.protocol': 'SASL_SSL', ...trust() }),
        'KAFKA_TLS',
        /without TLS.*set it to SASL_PLAINTEXT/,
      ],
      [
        'no login at a listener that asks for one',
        'sasl',
        () => ({}),
        'KAFKA_AUTH',
        /asks for a login by SASL \(PLAIN.*set it to SASL_PLAINTEXT/,
      ],
      [
        'TLS without a login where one is asked for',
        'saslssl',
        ssl,
        'KAFKA_AUTH',
        /asks for a login by SASL.*set it to SASL_SSL/,
      ],
      [
        'a login where none is possible',
        'plain',
        () => login('PLAIN'),
        'KAFKA_AUTH',
        /does not log in by SASL/,
      ],
      [
        'a wrong client secret',
        'oauth',
        () => endpoint({ 'sasl.oauthbearer.client.credentials.client.secret': 'hunter2' }),
        'KAFKA_AUTH',
        /broker .*no token for OAUTHBEARER.*status 401 \(invalid_client/,
      ],
      [
        'a token for another cluster',
        'oauth',
        () => oauth({ 'sasl.oauthbearer.token': kafka.tokens.token({ sub: undefined }) }),
        'KAFKA_AUTH',
        /refused the token by OAUTHBEARER/,
      ],
      [
        'a forged token',
        'oauth',
        () =>
          oauth({
            'sasl.oauthbearer.token': `${kafka.tokens.token().split('.').slice(0, 2).join('.')}.AAAA`,
          }),
        'KAFKA_AUTH',
        /refused the token by OAUTHBEARER/,
      ],
    ])('refuses %s at once', async (_what, listener, options, code, message) => {
      const connecting = connect(listener, options());
      await expect(connecting).rejects.toMatchObject({
        code,
        retryable: false,
        message: expect.stringMatching(message),
      });
      await expect(connecting).rejects.not.toThrow(/hunter2|alice-secret|a\+b/);
    });

    it('takes another token where the one that was kept is refused', async () => {
      const good = kafka.tokens.token();
      const asked: (string | undefined)[] = [];
      const cluster = await KafkaCluster.connect(
        client('oauth', oauth({ 'sasl.oauthbearer.token': 'unused' }), {
          token: async (refused?: string) => {
            asked.push(refused);
            return { value: refused === undefined ? `${good.slice(0, -4)}AAAA` : good, expiresAtMs: null };
          },
        }),
      );
      await cluster.close();
      expect(asked).toEqual([undefined, `${good.slice(0, -4)}AAAA`]);
    });

    it('logs in again before a login ends, between requests that are under way', async () => {
      // The login by password holds for three seconds, that by a token for as long as the token does.
      kafka.tokens.lifetime = 4;
      const issued = kafka.tokens.issued;
      const outlives = async (listener: At, options: Options): Promise<void> => {
        const cluster = await KafkaCluster.connect(client(listener, options, { random: () => 0 }));
        try {
          const connection = await cluster.pool.any();
          const ask = () => connection.call(metadata, { topics: [topic] });
          // A broker closes a connection that goes on without a new login.
          for (const end = Date.now() + 5000; Date.now() < end; ) await Promise.all([ask(), ask(), ask()]);
        } finally {
          await cluster.close();
        }
      };
      // A request that a busy machine delivers after the end of its login is met by a closed connection too: once.
      const tryTwice = (listener: At, options: Options): Promise<void> =>
        outlives(listener, options).catch(() => outlives(listener, options));
      await Promise.all([tryTwice('sasl', login('PLAIN')), tryTwice('oauth', endpoint())]);
      expect(kafka.tokens.issued - issued).toBeGreaterThan(1);
    });

    it('counts a new certificate from the next connection on', async () => {
      const store = join(directory, 'rotating.pem');
      await writeFile(store, await readFile(kafka.strangeClient.store));
      const options = { ...ssl(), 'ssl.keystore.location': store };
      await expect(connect('mtls', options)).rejects.toMatchObject({ code: 'KAFKA_AUTH' });
      await writeFile(store, await readFile(kafka.client.store));
      expect(await connect('mtls', options)).toBe(kafka.broker.clusterId);
    });
  },
);
