import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/config/fault.ts';
import { type LoadedPipeline, loadPipeline } from '../../../src/config/load-pipeline.ts';
import { isSluiceError, type SluiceError } from '../../../src/errors.ts';

/** The whole file of the specification. */
const WHOLE = `# yaml-language-server: $schema=./node_modules/sluice/schema.json
name: ad-events-bronze                  # the pipeline's name; its id is the uuid in the checkpoint
engine: local                           # local | spark
memory: 512MB
checkpointLocation: ./warehouse/_checkpoints/ad-events-bronze     # or s3://bucket/checkpoints/...
catalog: { type: sqlite, uri: ./warehouse/catalog.db, warehouse: ./warehouse }   # or { type: glue, warehouse: s3://bucket/warehouse }
trigger: { processingTime: 60 seconds } # or availableNow, once
source:
  kafka.bootstrap.servers: \${KAFKA_BOOTSTRAP_SERVERS:-localhost:9092}
  subscribe: ad-requests,ad-impressions,ad-clicks,ad-conversions
  startingOffsets: earliest
  maxOffsetsPerTrigger: 150000
tables:
  - match: "*"                          # topic pattern; the first that matches wins
    layout: bronze                      # bronze | typed
    table: bronze.\${topic}
    partitionBy: [dt, hour]
    timeZone: UTC
    # typed: value: { format: json, schema: "user_id BIGINT, ..." }, merge: {...}, transform: "SELECT ...", evolve: add|widen|none
quarantine: { maxRatio: 0.05, window: 10000 }
alerts: []
http: { listen: 127.0.0.1:8077 }
`;

const SMALL = `name: p
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }
source:
  kafka.bootstrap.servers: localhost:9092
  subscribe: a
`;

interface Extra {
  env?: Record<string, string>;
  overrides?: string[];
  cwd?: string;
}

function load(text: string, extra: Extra = {}): Promise<LoadedPipeline> {
  return loadPipeline({
    file: 'sluice.yaml',
    text,
    env: extra.env ?? {},
    overrides: extra.overrides ?? [],
    cwd: extra.cwd ?? '/base',
    defaultWorkers: 2,
  });
}

async function failure(text: string, extra: Extra = {}): Promise<SluiceError> {
  const thrown = await load(text, extra).then(
    () => undefined,
    (e: unknown) => e,
  );
  if (!isSluiceError(thrown, 'CONFIG_INVALID')) throw new Error(`expected CONFIG_INVALID, got ${thrown}`);
  return thrown;
}

async function faults(text: string, extra: Extra = {}): Promise<Fault[]> {
  return (await failure(text, extra)).context.faults as Fault[];
}

/** The faults as `line:column CODE path`, in the order in which they are listed. */
async function places(text: string, extra: Extra = {}): Promise<string[]> {
  return (await faults(text, extra)).map((f) => `${f.line}:${f.column} ${f.code} ${f.path}`);
}

describe('a whole file', () => {
  it('is the pipeline that it describes', async () => {
    const { config, warnings } = await load(WHOLE);
    expect(config).toEqual({
      name: 'ad-events-bronze',
      engine: 'local',
      memoryBytes: 536_870_912,
      checkpointLocation: '/base/warehouse/_checkpoints/ad-events-bronze',
      catalog: {
        type: 'sqlite',
        name: 'sluice',
        uri: '/base/warehouse/catalog.db',
        warehouse: '/base/warehouse',
      },
      trigger: { kind: 'processingTime', intervalMs: 60_000 },
      source: {
        bootstrapServers: 'localhost:9092',
        kafka: {},
        kafkaSecrets: {},
        isolationLevel: 'read_committed',
        selection: {
          kind: 'subscribe',
          topics: ['ad-requests', 'ad-impressions', 'ad-clicks', 'ad-conversions'],
        },
        startingOffsets: { kind: 'earliest' },
        maxOffsetsPerTrigger: 150_000n,
        minOffsetsPerTrigger: null,
        maxTriggerDelayMs: 900_000,
        maxBytesPerTrigger: null,
        minPartitions: null,
        maxRecordsPerPartition: null,
        failOnDataLoss: true,
        includeHeaders: false,
        workers: 2,
        fetchOffsetNumRetries: 3,
        fetchOffsetRetryIntervalMs: 1000,
        pollTimeoutMs: 120_000,
        requestDeadlineMs: 300_000,
      },
      tables: [
        {
          match: '*',
          layout: 'bronze',
          value: null,
          key: null,
          provenance: [],
          evolve: 'none',
          route: null,
          table: 'bronze.${topic}',
          partitionBy: ['dt', 'hour'],
          timeZone: 'UTC',
          valueType: 'string',
          keyType: 'binary',
          tombstones: 'keep',
          maxRecordBytes: null,
          formatVersion: 2,
          codec: 'zstd',
          codecLevel: 1,
          targetFileSizeBytes: 134_217_728,
          snapshots: { keep: 100, maxAgeMs: 432_000_000, max: 200 },
          properties: {},
        },
      ],
      registry: null,
      quarantine: { maxRatio: 0.05, window: 10_000, keepBytes: 1_048_576 },
      shutdownTimeoutMs: 30_000,
      retention: { minBatchesToRetain: 100 },
      progress: { keep: 100 },
    });
    expect(warnings.map((w) => `${w.line}:${w.column} ${w.code} ${w.path}`)).toEqual([
      '22:9 NO_EFFECT http.listen',
    ]);
  });

  it('needs only five things', async () => {
    const { config, warnings } = await load(SMALL);
    expect(config.source.startingOffsets).toEqual({ kind: 'latest' });
    expect(config.trigger).toEqual({ kind: 'processingTime', intervalMs: 60_000 });
    expect(config.tables).toHaveLength(1);
    expect(config.source.maxOffsetsPerTrigger).toBeNull();
    expect(warnings).toEqual([]);
  });
});

describe('triggers', () => {
  it.each([
    ['trigger: availableNow', { kind: 'availableNow' }],
    ['trigger: { availableNow: true }', { kind: 'availableNow' }],
    ['trigger: once', { kind: 'once' }],
    ['trigger: { once: true }', { kind: 'once' }],
    ['trigger: { processingTime: 15s }', { kind: 'processingTime', intervalMs: 15_000 }],
    ['trigger: { processingTime: 0 }', { kind: 'processingTime', intervalMs: 0 }],
  ])('%s', async (line, trigger) => {
    expect((await load(`${SMALL}${line}\n`)).config.trigger).toEqual(trigger);
  });

  it('warns of small files under ten seconds', async () => {
    const { warnings } = await load(`${SMALL}trigger: { processingTime: 9999ms }\n`);
    expect(warnings).toMatchObject([{ code: 'LINT', path: 'trigger.processingTime', line: 7, column: 12 }]);
    expect(warnings[0].message).toContain('small files');
    expect((await load(`${SMALL}trigger: { processingTime: 10s }\n`)).warnings).toEqual([]);
  });

  it('refuses two of them, and a trigger that is turned off', async () => {
    expect(await places(`${SMALL}trigger: { processingTime: 60s, once: true }\n`)).toEqual([
      '7:39 CONTRADICTION trigger.once',
    ]);
    expect(await places(`${SMALL}trigger: { once: false }\n`)).toEqual(['7:18 WRONG_VALUE trigger.once']);
  });
});

describe('faults', () => {
  it('are all told at once, where they stand', async () => {
    const text = `name: p
memry: 1GB
checkpointLocation: [a]
catalog: { type: glue, uri: ./c.db, warehouse: ./w }
trigger: { processingTime: soon }
source:
  kafka.bootstrap.servers: localhost
  subscribe: a
  assign: {"a":[0]}
  maxOffsetPerTrigger: 10
tables:
  - match: "*"
    layout: bronze
    timeZone: Mars/Olympus
`;
    expect(await places(text)).toEqual([
      '2:1 UNKNOWN_OPTION memry',
      '3:21 WRONG_VALUE checkpointLocation',
      '4:18 UNSUPPORTED catalog.type',
      '5:28 WRONG_VALUE trigger.processingTime',
      '7:28 WRONG_VALUE source.kafka.bootstrap.servers',
      '9:11 CONTRADICTION source.assign',
      '10:3 UNKNOWN_OPTION source.maxOffsetPerTrigger',
      '14:15 WRONG_VALUE tables[0].timeZone',
    ]);
    const { message } = await failure(text);
    expect(message).toContain('CONFIG_INVALID: sluice.yaml has 8 faults:');
    expect(message).toContain(
      'sluice.yaml:2:1 UNKNOWN_OPTION memry: there is no such option; did you mean memory?',
    );
    expect(message).toContain(
      'sluice.yaml:10:3 UNKNOWN_OPTION source.maxOffsetPerTrigger: there is no such option; did you mean maxOffsetsPerTrigger?',
    );
  });

  it('names what is missing', async () => {
    expect(await places('name: p\n')).toEqual([
      '1:1 MISSING_OPTION checkpointLocation',
      '1:1 MISSING_OPTION catalog',
      '1:1 MISSING_OPTION source',
    ]);
    expect(await places('name: p\ncheckpointLocation: x\ncatalog: { type: sqlite }\nsource: {}\n')).toEqual([
      '3:10 MISSING_OPTION catalog.warehouse',
      '3:10 MISSING_OPTION catalog.uri',
      '4:9 MISSING_OPTION source.kafka.bootstrap.servers',
      '4:9 MISSING_OPTION source.subscribe',
    ]);
  });

  it('says where a misplaced option belongs', async () => {
    const [fault] = await faults(`${SMALL}maxOffsetsPerTrigger: 5\n`);
    expect(fault.message).toBe('there is no such option; it belongs under source');
    const [nested] = await faults(
      SMALL.replace('  subscribe', '  kafka: { client: { id: x } }\n  subscribe'),
    );
    expect(nested).toMatchObject({ code: 'UNKNOWN_OPTION', path: 'source.kafka' });
    expect(nested.message).toContain('flat');
  });

  it.each([
    ['memory: 5', 'memory', 'expected a size from 32 MB to 1 TB, such as 512MB, found 5'],
    [
      SMALL.replace(/servers: .*/, 'servers: "http://a:9092"'),
      'source.kafka.bootstrap.servers',
      'without a scheme, found "http://a:9092"',
    ],
    ['memory: lots', 'memory', 'found "lots"'],
    ['memory:', 'memory', 'found nothing'],
    ['quarantine: { maxRatio: 1.5 }', 'quarantine.maxRatio', 'expected a number from 0 to 1, found 1.5'],
    ['quarantine: 5', 'quarantine', 'expected a map of options, found 5'],
    ['tables: []', 'tables', 'expected a list of at least one rule, found an empty list'],
    ['tables: { match: "*" }', 'tables', 'expected a list of at least one rule, found a map'],
    ['tables: [a]', 'tables[0]', 'expected a map of options, found "a"'],
    [
      'tables: [{ match: "*", partitionBy: [minute(dt)] }]',
      'tables[0].partitionBy',
      'minute is not a transform',
    ],
    [
      'tables: [{ match: "*", partitionBy: [hours(dt)] }]',
      'tables[0].partitionBy',
      'hours takes kafka_timestamp or ingested_at',
    ],
    ['tables: [{ match: "*", table: "no-namespace" }]', 'tables[0].table', 'expected namespace.name'],
    ['tables: [{ match: "*", codec: gzip, codecLevel: 12 }]', 'tables[0].codecLevel', 'gzip knows 1 to 9'],
    ['tables: [{ match: "b*" }]', 'tables', 'no rule matches the topic a'],
    ['name: "x', '', 'a quote, a bracket'],
  ])('%s', async (line, path, message) => {
    const found = await faults(line.startsWith('name') ? line : `${SMALL}${line}\n`);
    expect(found.map((f) => f.path)).toContain(path);
    expect(found.find((f) => f.path === path)!.message).toContain(message);
  });

  it('refuses partition fields that would have one name', async () => {
    const rule = (fields: string) => `${SMALL}tables: [{ match: "*", partitionBy: [${fields}] }]\n`;
    expect((await faults(rule('"bucket(4, key)", "bucket(8, key)"')))[0].message).toBe(
      'bucket of key is there twice',
    );
    expect((await faults(rule('dt, identity(dt)')))[0].code).toBe('CONTRADICTION');
    expect(
      (await load(rule('day(kafka_timestamp), "hours( kafka_timestamp )"'))).config.tables[0].partitionBy,
    ).toEqual(['days(kafka_timestamp)', 'hours(kafka_timestamp)']);
  });

  it('refuses two topics that meet in one table', async () => {
    const [fault] = await faults(SMALL.replace('subscribe: a', 'subscribe: ad-clicks,ad.clicks'));
    expect(fault).toMatchObject({ code: 'CONTRADICTION' });
    expect(fault.message).toContain('ad-clicks and ad.clicks would meet in one table, bronze.ad_clicks');
  });

  it('which snapshots a table keeps: at most as many as are allowed in all, twice the kept ones by default', async () => {
    const rule = (text: string) => `${SMALL}tables:\n  - match: "*"\n${text}`;
    const keep = async (text: string) => (await load(rule(text))).config.tables[0].snapshots;
    expect(await keep('    keepSnapshots: 30\n    keepSnapshotsFor: 12 hours\n')).toEqual({
      keep: 30,
      maxAgeMs: 43_200_000,
      max: 60,
    });
    expect((await keep('    maxSnapshots: 7200\n')).max).toBe(7200);
    const [fault] = await faults(rule('    keepSnapshots: 30\n    maxSnapshots: 29\n'));
    expect(fault).toMatchObject({ code: 'CONTRADICTION', path: 'tables[0].maxSnapshots' });
  });

  it('refuses names that no topic can have', async () => {
    const [fault] = await faults(SMALL.replace('subscribe: a', 'subscribe: "ads.*"'));
    expect(fault.message).toContain('subscribePattern takes a pattern');
  });
});

describe('what this version does not do', () => {
  it.each([
    ['engine: spark', 'engine'],
    ['alerts: [{ lag: 5 }]', 'alerts'],
    ['tables: [{ match: "*", merge: { on: [id] } }]', 'tables[0].merge'],
    ['lakehouse: {}', 'lakehouse'],
  ])('%s is refused plainly', async (line, path) => {
    const found = await faults(`${SMALL}${line}\n`);
    expect(found.map((f) => `${f.code} ${f.path}`)).toEqual([`UNSUPPORTED ${path}`]);
    expect(found[0].message).toContain('not in this version');
  });

  it.each([
    ['endingOffsets: latest', 'endingOffsets'],
    ['endingTimestamp: 1700000000000', 'endingTimestamp'],
    ['endingOffsetsByTimestamp: {}', 'endingOffsetsByTimestamp'],
    ['commitOffsetsToKafka: true', 'commitOffsetsToKafka'],
    ['kafka.auto.offset.reset: latest', 'kafka.auto.offset.reset'],
  ])('source: %s is refused plainly', async (line, key) => {
    const found = await faults(`${SMALL}  ${line}\n`);
    expect(found.map((f) => `${f.code} ${f.path}`)).toEqual([`UNSUPPORTED source.${key}`]);
  });

  it.each([true, false])('includeHeaders: %s is taken, as a text too', async (value) => {
    for (const text of [`${value}`, `"${value}"`]) {
      const { config } = await load(`${SMALL}  includeHeaders: ${text}\n`);
      expect(config.source.includeHeaders).toBe(value);
    }
  });

  it('takes the values that ask for nothing', async () => {
    const { config, warnings } = await load(`${SMALL}  commitOffsetsToKafka: "false"\n`);
    expect(config.name).toBe('p');
    expect(warnings.filter((w) => w.path.includes('commitOffsets'))).toEqual([]);
  });

  it('takes a file catalog, which is its warehouse, with a warning', async () => {
    const { config, warnings } = await load(
      SMALL.replace('{ type: sqlite, uri: ./c.db, warehouse: ./w }', '{ type: file, warehouse: ./w }'),
    );
    expect(config.catalog).toEqual({ type: 'file', name: 'sluice', warehouse: '/base/w' });
    expect(warnings).toMatchObject([
      { code: 'LINT', path: 'catalog.type', message: expect.stringContaining('unsafe') },
    ]);
    const found = await faults(SMALL.replace('type: sqlite', 'type: file'));
    expect(found.map((f) => `${f.code} ${f.path}`)).toEqual(['CONTRADICTION catalog.uri']);
    const hadoop = await faults(SMALL.replace('type: sqlite', 'type: hadoop'));
    expect(hadoop.map((f) => f.message)).toEqual([expect.stringContaining('use type: file')]);
  });

  it('refuses storage and catalogs of later versions', async () => {
    const found = await faults(
      SMALL.replace('./cp', 's3://bucket/cp')
        .replace('./c.db', 'postgresql://u:secretpw@h/db')
        .replace('./w', 's3a://b/w'),
    );
    expect(found.map((f) => `${f.code} ${f.path}`)).toEqual([
      'UNSUPPORTED checkpointLocation',
      'UNSUPPORTED catalog.uri',
      'UNSUPPORTED catalog.warehouse',
    ]);
    expect(JSON.stringify(found)).not.toContain('secretpw');
  });
});

describe('Kafka options', () => {
  it('go to the client verbatim, with a word where they do nothing', async () => {
    const { config, warnings } = await load(
      `${SMALL}  kafka.client.rack: eu-1a\n  kafka.fetch.max.byte: 7\n  kafka.client.ids: x\n  groupIdPrefix: g\n`,
    );
    expect(config.source.kafka).toMatchObject({ 'client.rack': 'eu-1a', 'fetch.max.byte': '7' });
    expect(warnings.map((w) => `${w.code} ${w.path} ${w.nearest ?? ''}`)).toEqual([
      'NO_EFFECT source.groupIdPrefix ',
      'NO_EFFECT source.kafka.fetch.max.byte ',
      'NO_EFFECT source.kafka.client.ids kafka.client.id',
    ]);
  });

  it('must agree about the login', async () => {
    expect(await places(`${SMALL}  kafka.sasl.mechanism: PLAIN\n`)).toEqual([
      '7:25 CONTRADICTION source.kafka.sasl.mechanism',
    ]);
    expect(await places(`${SMALL}  kafka.security.protocol: SASL_SSL\n`)).toEqual(
      ['4:1 MISSING_OPTION source.kafka.sasl.mechanism'].map((t) => t.replace('4:1', '5:3')),
    );
    const half = `${SMALL}  kafka.security.protocol: SASL_SSL\n  kafka.sasl.mechanism: PLAIN\n  kafka.sasl.username: u\n`;
    expect((await faults(half)).map((f) => f.path)).toEqual(['source.kafka.sasl.password']);
  });

  const sasl = 'kafka.security.protocol: SASL_SSL\n  kafka.sasl.mechanism';

  it.each([
    ['kafka.ssl.truststore.location: ca.pem', '7:34 CONTRADICTION source.kafka.ssl.truststore.location'],
    ['kafka.ssl.cipher.suites: x', '7:3 UNSUPPORTED source.kafka.ssl.cipher.suites'],
    ['kafka.ssl.ca.location: ca.pem', '7:3 UNSUPPORTED source.kafka.ssl.ca.location'],
    ['kafka.sasl.pasword: x', '7:3 UNKNOWN_OPTION source.kafka.sasl.pasword'],
    [
      'kafka.security.protocol: SSL\n  kafka.ssl.truststore.type: JKS',
      '8:30 UNSUPPORTED source.kafka.ssl.truststore.type',
    ],
    [
      'kafka.security.protocol: SSL\n  kafka.ssl.enabled.protocols: TLSv1',
      '8:32 WRONG_VALUE source.kafka.ssl.enabled.protocols',
    ],
    [
      'kafka.security.protocol: SSL\n  kafka.ssl.keystore.key: env:KEY',
      'MISSING_OPTION source.kafka.ssl.keystore.certificate.chain',
    ],
    [`${sasl}: GSSAPI`, '8:25 UNSUPPORTED source.kafka.sasl.mechanism'],
    [`${sasl}: OAUTHBEARER`, 'MISSING_OPTION source.kafka.sasl.oauthbearer.token.endpoint.url'],
    [
      `${sasl}: OAUTHBEARER\n  kafka.sasl.oauthbearer.token.endpoint.url: ldap://x/y`,
      '9:46 WRONG_VALUE source.kafka.sasl.oauthbearer.token.endpoint.url',
    ],
    [
      `${sasl}: OAUTHBEARER\n  kafka.sasl.oauthbearer.token.endpoint.url: https://x/y\n  kafka.sasl.oauthbearer.client.credentials.client.id: i`,
      'MISSING_OPTION source.kafka.sasl.oauthbearer.client.credentials.client.secret',
    ],
    [
      `${sasl}: OAUTHBEARER\n  kafka.sasl.oauthbearer.token.endpoint.url: https://x/y\n  kafka.sasl.oauthbearer.token: env:KEY`,
      '9:46 CONTRADICTION source.kafka.sasl.oauthbearer.token.endpoint.url',
    ],
    [
      `${sasl}: PLAIN\n  kafka.sasl.jaas.config: env:JAAS\n  kafka.sasl.username: u`,
      '10:24 CONTRADICTION source.kafka.sasl.username',
    ],
    [
      `${sasl}: SCRAM-SHA-256\n  kafka.sasl.jaas.config: env:JAAS`,
      '9:27 WRONG_VALUE source.kafka.sasl.jaas.config',
    ],
    [
      `${sasl}: OAUTHBEARER\n  kafka.sasl.login.callback.handler.class: com.example.Mine\n  kafka.sasl.oauthbearer.token: env:KEY`,
      '9:44 WRONG_VALUE source.kafka.sasl.login.callback.handler.class',
    ],
  ])('refuses %s', async (lines, expected) => {
    const env = { KEY: 'k', JAAS: 'PlainLoginModule required username="u" password="hunter2";' };
    const found = await faults(`${SMALL}  ${lines}\n`, { env });
    expect(found.map((f) => `${f.line}:${f.column} ${f.code} ${f.path}`)).toEqual([
      expect.stringContaining(expected),
    ]);
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  it('takes each way to log in, with full paths of certificates', async () => {
    const env = { PW: 'hunter2' };
    const oauth = `${SMALL}  ${sasl}: OAUTHBEARER
  kafka.sasl.login.callback.handler.class: org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
  kafka.sasl.oauthbearer.token.endpoint.url: https://idp/token
  kafka.sasl.jaas.config: OAuthBearerLoginModule required clientId="i" clientSecret="\${PW}" ssl.truststore.location="idp.pem";
  kafka.ssl.truststore.location: ca.pem
`;
    const { config, warnings } = await load(oauth, { env, cwd: '/base' });
    expect(config.source.kafka).toMatchObject({
      'security.protocol': 'SASL_SSL',
      'ssl.truststore.location': '/base/ca.pem',
      'sasl.oauthbearer.ssl.truststore.location': '/base/idp.pem',
      'sasl.oauthbearer.client.credentials.client.id': 'i',
    });
    const secret = 'sasl.oauthbearer.client.credentials.client.secret';
    expect(config.source.kafkaSecrets[secret].reveal()).toBe('hunter2');
    expect(inspect(config, { depth: 9 })).not.toContain('hunter2');
    expect(warnings.map((w) => `${w.code} ${w.path}`)).toEqual([
      'NO_EFFECT source.kafka.sasl.login.callback.handler.class',
    ]);
  });

  it('warns of a password that goes over the network in the clear, but not on this machine', async () => {
    const plain = (server: string) =>
      load(
        `${SMALL.replace('localhost:9092', server)}  kafka.security.protocol: SASL_PLAINTEXT\n  kafka.sasl.mechanism: PLAIN\n  kafka.sasl.username: u\n  kafka.sasl.password: env:PW\n`,
        { env: { PW: 'x' } },
      );
    expect((await plain('kafka:9092')).warnings).toMatchObject([
      { code: 'LINT', path: 'source.kafka.security.protocol' },
    ]);
    expect((await plain('localhost:9092')).warnings).toEqual([]);
  });

  it('reads read_uncommitted', async () => {
    const { config } = await load(`${SMALL}  kafka.isolation.level: read_uncommitted\n`);
    expect(config.source.isolationLevel).toBe('read_uncommitted');
  });
});

describe('offsets', () => {
  it.each([
    `'{"a":{"0":23,"1":-2,"2":9223372036854775807}}'`,
    `{"a":{"0":23,"1":-2,"2":9223372036854775807}}`,
    '{a: {0: 23, 1: -2, 2: 9223372036854775807}}',
  ])('startingOffsets: %s, with every digit', async (value) => {
    const { config } = await load(`${SMALL}  startingOffsets: ${value}\n`);
    const offsets = new Map([
      [
        'a',
        new Map([
          [0, 23n],
          [1, -2n],
          [2, 9223372036854775807n],
        ]),
      ],
    ]);
    expect(config.source.startingOffsets).toEqual({ kind: 'map', offsets });
  });

  it.each(['newest', '{"a":{"0":-3}}', '{"a":{"x":1}}', '{"a":5}', '{}', '{"a":{"0":1.5}}', '\'{"a":\''])(
    'refuses %s',
    async (value) => {
      expect((await faults(`${SMALL}  startingOffsets: ${value}\n`)).map((f) => f.path)).toContain(
        'source.startingOffsets',
      );
    },
  );

  it('name exactly what is read', async () => {
    const assigned = SMALL.replace('subscribe: a', 'assign: {"a":[0,1]}');
    const messages = (await faults(`${assigned}  startingOffsets: {"a":{"0":1,"2":1},"b":{"0":1}}\n`)).map(
      (f) => f.message,
    );
    expect(messages).toEqual([
      'the map must name exactly what is read; it lacks a-1',
      'the map must name exactly what is read; not read: "b", "a-2"',
    ]);
    const { config } = await load(`${assigned}  startingOffsets: {"a":{"0":1,"1":-1}}\n`);
    expect(config.source.selection).toEqual({ kind: 'assign', partitions: new Map([['a', [0, 1]]]) });
  });

  it('keeps maxOffsetsPerTrigger exact', async () => {
    const { config } = await load(`${SMALL}  maxOffsetsPerTrigger: 9007199254740993\n`);
    expect(config.source.maxOffsetsPerTrigger).toBe(9007199254740993n);
  });
});

describe('YAML', () => {
  it.each([
    ['', 'YAML_SYNTAX'],
    ['- a\n', 'WRONG_VALUE'],
    ['name: "x\n', 'YAML_SYNTAX'],
    ['name: x\n\tmemory: 1GB\n', 'YAML_SYNTAX'],
    ['name: x\n---\nname: y\n', 'YAML_SYNTAX'],
    ['name: *nobody\n', 'YAML_SYNTAX'],
    ['? [a, b]\n: x\n', 'KEY_NOT_TEXT'],
    ['true: x\n', 'KEY_NOT_TEXT'],
    ['name: !weird x\n', 'YAML_SYNTAX'],
    [`a: ${'['.repeat(40)}${']'.repeat(40)}\n`, 'TOO_LARGE'],
    [`a: ${'['.repeat(200_000)}`, 'YAML_SYNTAX'],
    ['a: &a [*a]\n', 'TOO_LARGE'],
    [`name: ${'x'.repeat(1_100_000)}\n`, 'TOO_LARGE'],
  ])('%#', async (text, code) => {
    expect((await faults(text)).map((f) => f.code)).toContain(code);
  });

  it('stops at an alias bomb', async () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`),
    ];
    const found = await faults(`${bomb.join('\n')}\n`);
    expect(found.map((f) => f.code)).toContain('TOO_LARGE');
  });

  it('takes anchors of ordinary size', async () => {
    const { config } = await load(
      `${SMALL}tables:\n  - match: b\n    properties: &p { x: 1 }\n  - match: "*"\n    properties: *p\n`,
    );
    expect(config.tables[1].properties).toEqual({ x: '1' });
  });

  it('names a key that stands twice, with the first line', async () => {
    const [fault] = await faults(`${SMALL}name: q\n`);
    expect(fault).toMatchObject({
      code: 'DUPLICATE_KEY',
      line: 7,
      column: 1,
      path: 'name',
      message: 'stands in line 1 already',
    });
  });

  it('is not harmed by names of JavaScript', async () => {
    expect(await places(`${SMALL}__proto__: { polluted: true }\nconstructor: 1\ntoString: 2\n`)).toEqual([
      '7:1 UNKNOWN_OPTION __proto__',
      '8:1 UNKNOWN_OPTION constructor',
      '9:1 UNKNOWN_OPTION toString',
    ]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    const { config } = await load(`${SMALL}tables: [{ match: "*", properties: { __proto__: x } }]\n`);
    expect(Object.entries(config.tables[0].properties)).toEqual([['__proto__', 'x']]);
  });
});

describe('variables', () => {
  it('are put into values, never into the text', async () => {
    const env = { NAME: 'p", memory: "9TB', BROKERS: 'h:1', MAX: '1000' };
    const text = SMALL.replace('localhost:9092', '${BROKERS}').replace('name: p', 'name: "${NAME}"');
    const [fault] = await faults(`${text}  maxOffsetsPerTrigger: \${MAX}\n`, { env });
    expect(fault).toMatchObject({ path: 'name', code: 'WRONG_VALUE' });
    const { config } = await load(`${text}  maxOffsetsPerTrigger: \${MAX}\n`, { env: { ...env, NAME: 'q' } });
    expect(config).toMatchObject({
      name: 'q',
      source: { bootstrapServers: 'h:1', maxOffsetsPerTrigger: 1000n },
    });
  });

  it('have defaults and demands', async () => {
    const { config } = await load(`${SMALL}memory: \${M:-64MB}\n`, { env: { M: '' } });
    expect(config.memoryBytes).toBe(67_108_864);
    const [unset] = await faults(`${SMALL}memory: \${M}\n`);
    expect(unset).toMatchObject({ code: 'VARIABLE_UNSET', line: 7, column: 9, path: 'memory' });
    const [asked] = await faults(`${SMALL}memory: \${M:?how much may it take}\n`);
    expect(asked.message).toBe('the variable M is not set: how much may it take');
    expect((await faults(`${SMALL}memory: \${M\n`))[0].code).toBe('VARIABLE_SYNTAX');
  });

  it('never show what they hold', async () => {
    const error = await failure(`${SMALL}memory: \${PASSWORD}\n`, { env: { PASSWORD: 'hunter2' } });
    expect(error.message).toContain('found the value of ${PASSWORD}');
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('from outside', () => {
  it('--set wins over the environment, which wins over the file', async () => {
    const text = `${SMALL}  maxOffsetsPerTrigger: 1\n`;
    const env = {
      SLUICE_MAX_OFFSETS_PER_TRIGGER: '2',
      SLUICE_WORKERS: '3',
      SLUICE_MEMORY: '64MB',
      SLUICE_MIN_PARTITIONS: '9',
    };
    expect((await load(text, { env })).config).toMatchObject({
      memoryBytes: 67_108_864,
      source: { maxOffsetsPerTrigger: 2n, workers: 3, minPartitions: 9 },
    });
    const overrides = ['source.maxOffsetsPerTrigger=3', 'source.maxOffsetsPerTrigger=4'];
    expect((await load(text, { env, overrides })).config.source.maxOffsetsPerTrigger).toBe(4n);
  });

  it('--set reaches every kind of option', async () => {
    const overrides = [
      'source.kafka.bootstrap.servers=b:1',
      'source.kafka.client.rack=r',
      'tables[0].match=*',
      'tables.0.properties.write.x=1',
      'tables[0].partitionBy=[dt, "bucket(4, key)"]',
      'trigger.availableNow=true',
      'name=q=r'.replace('=r', '-r'),
    ];
    const { config } = await load(`${SMALL}trigger: { processingTime: 5s }\n`, { overrides });
    expect(config).toMatchObject({
      name: 'q-r',
      trigger: { kind: 'availableNow' },
      source: { bootstrapServers: 'b:1', kafka: { 'client.rack': 'r' } },
    });
    expect(config.tables).toMatchObject([
      { match: '*', properties: { 'write.x': '1' }, partitionBy: ['dt', 'bucket(4, key)'] },
    ]);
    expect((await load(SMALL, { overrides: ['source.assign={"a":[1]}'] })).config.source.selection.kind).toBe(
      'assign',
    );
  });

  it('faults are told by the number of the --set and by the name of the variable', async () => {
    const found = await faults(SMALL, {
      overrides: ['memory=64MB', 'source.workers=many', 'nonsense', 'tables[3].match=x'],
      env: { SLUICE_MIN_PARTITIONS: 'x' },
    });
    expect(found.map((f) => `${f.file}:${f.line}:${f.column} ${f.code}`).sort()).toEqual(
      [
        '--set:2:1 WRONG_VALUE',
        '--set:3:1 UNKNOWN_OPTION',
        '--set:4:1 WRONG_VALUE',
        'SLUICE_MIN_PARTITIONS:1:1 WRONG_VALUE',
      ].sort(),
    );
  });

  it('warns of a variable that is nearly one', async () => {
    const { warnings } = await load(SMALL, {
      env: { SLUICE_MAX_OFFSET_PER_TRIGGER: '5', SLUICE_FAILPOINTS: '' },
    });
    expect(warnings.map((w) => w.nearest)).toEqual(['SLUICE_MAX_OFFSETS_PER_TRIGGER']);
  });
});

describe('secrets', () => {
  const sasl = `${SMALL}  kafka.security.protocol: SASL_SSL\n  kafka.sasl.mechanism: SCRAM-SHA-512\n`;
  const login = (password: string) => `${sasl}  kafka.sasl.username: u\n  kafka.sasl.password: ${password}\n`;

  it('come by reference and never print', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-secret-'));
    try {
      await writeFile(join(cwd, 'pw'), 'from file\n');
      const env = { PW: 'from env', PATH: '/usr/bin:/bin' };
      for (const [reference, value] of [
        ['env:PW', 'from env'],
        [`file:${cwd}/pw`, 'from file'],
        ['file:pw', 'from file'],
        ['exec:printf "from %s" command', 'from command'],
        ['${PW}', 'from env'],
      ]) {
        const { config, warnings } = await load(login(JSON.stringify(reference)), { env, cwd });
        expect(config.source.kafkaSecrets['sasl.password'].reveal()).toBe(value);
        expect(config.source.kafka['sasl.username']).toBe('u');
        expect(config.source.kafka['sasl.password']).toBeUndefined();
        expect(warnings).toEqual([]);
        expect(inspect(config, { depth: 9 }) + JSON.stringify(config.source)).not.toContain(value);
      }
    } finally {
      await rm(cwd, { recursive: true });
    }
  });

  it('cannot be references that a variable smuggles in', async () => {
    const { config } = await load(login('${PW}'), { env: { PW: 'exec:touch /nowhere/x' } });
    expect(config.source.kafkaSecrets['sasl.password'].reveal()).toBe('exec:touch /nowhere/x');
  });

  it.each([
    ['env:NOBODY', 'the variable NOBODY is not set'],
    ['file:./not-there', './not-there could not be read (ENOENT)'],
    ['"exec:echo hunter2 >&2; exit 3"', 'the command failed with 3'],
    ['"exec:true"', 'the command printed nothing'],
    ['"env:"', 'nothing stands behind env:'],
  ])('%s is told without what was read', async (reference, message) => {
    const error = await failure(login(reference), { env: { PATH: '/usr/bin:/bin' }, cwd: '/' });
    expect(error.context.faults).toMatchObject([
      { code: 'SECRET_UNAVAILABLE', path: 'source.kafka.sasl.password', message },
    ]);
    expect(error.message).not.toContain('hunter2 ');
  });

  it('in plain are warned of', async () => {
    const { warnings } = await load(login('hunter2'));
    expect(warnings).toMatchObject([{ code: 'LINT', path: 'source.kafka.sasl.password' }]);
    expect(JSON.stringify(warnings)).not.toContain('hunter2');
  });

  it('of a JAAS text become user and password', async () => {
    const jaas =
      'org.apache.kafka.common.security.scram.ScramLoginModule required username="u\\"x" password="p;=1";';
    const { config } = await load(`${sasl}  kafka.sasl.jaas.config: \${JAAS}\n`, { env: { JAAS: jaas } });
    expect(config.source.kafka['sasl.username']).toBe('u"x');
    expect(config.source.kafkaSecrets['sasl.password'].reveal()).toBe('p;=1');
    expect(Object.keys(config.source.kafkaSecrets)).toEqual(['sasl.password']);
    const [fault] = await faults(`${sasl}  kafka.sasl.jaas.config: Krb5LoginModule required hunter2;\n`);
    expect(fault.message).not.toContain('hunter2');
  });

  it('are hidden in a fault of their own', async () => {
    const error = await failure(login('[hunter2]'));
    expect(error.context.faults).toMatchObject([{ code: 'WRONG_VALUE', path: 'source.kafka.sasl.password' }]);
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
    const syntax = await failure(`${sasl}  kafka.sasl.password: "hunter2" "x\n`);
    expect(inspect(syntax, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('modules', () => {
  it.each(['sluice.config.ts', 'sluice.config.js'])('%s', async (file) => {
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-config-'));
    try {
      const type = file.endsWith('.ts') ? ': { env: Record<string, string | undefined> }' : '';
      await writeFile(join(cwd, 'package.json'), '{"type":"module"}');
      await writeFile(
        join(cwd, file),
        `export default ({ env }${type}) => ({ name: 'm', checkpointLocation: 'cp', memory: env.M,
          catalog: { type: 'sqlite', uri: 'c.db', warehouse: 'w' },
          source: { 'kafka.bootstrap.servers': 'h:1', subscribe: ['a', 'b'], maxOffsetsPerTrigger: 7n } });`,
      );
      const { config } = await loadPipeline({
        file,
        env: { M: '64MB' },
        overrides: ['source.workers=1'],
        cwd,
      });
      expect(config).toMatchObject({
        name: 'm',
        memoryBytes: 67_108_864,
        source: { workers: 1, maxOffsetsPerTrigger: 7n, selection: { topics: ['a', 'b'] } },
      });
      const wrong = loadPipeline({ file, env: { M: 'much' }, overrides: [], cwd });
      await expect(wrong).rejects.toThrow(`${file}:1:1 WRONG_VALUE memory: expected a size`);
    } finally {
      await rm(cwd, { recursive: true });
    }
  });

  it('may give a function for the token of OAUTHBEARER, and for nothing else', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-config-'));
    try {
      const pipeline = (options: string) => `export default { name: 'm', checkpointLocation: 'cp',
        catalog: { type: 'sqlite', uri: 'c.db', warehouse: 'w' },
        source: { 'kafka.bootstrap.servers': 'h:1', subscribe: 'a', 'kafka.security.protocol': 'SASL_SSL',
          'kafka.sasl.mechanism': 'OAUTHBEARER', ${options} } };`;
      await writeFile(join(cwd, 'a.mjs'), pipeline(`'kafka.sasl.oauthbearer.token': async () => 'abc'`));
      const { config, warnings } = await loadPipeline({ file: 'a.mjs', env: {}, overrides: [], cwd });
      expect(await config.source.oauthToken!()).toBe('abc');
      expect([config.source.kafkaSecrets, warnings]).toEqual([{}, []]);
      const set = ['source.kafka.sasl.oauthbearer.token=fixed'];
      const over = await loadPipeline({ file: 'a.mjs', env: {}, overrides: set, cwd });
      expect(over.config.source.oauthToken).toBeUndefined();
      expect(over.config.source.kafkaSecrets['sasl.oauthbearer.token'].reveal()).toBe('fixed');
      await writeFile(
        join(cwd, 'b.mjs'),
        pipeline(`'kafka.client.id': () => 'x', 'kafka.sasl.oauthbearer.token': 'abc'`),
      );
      await expect(loadPipeline({ file: 'b.mjs', env: {}, overrides: [], cwd })).rejects.toThrow(
        'kafka.client.id',
      );
    } finally {
      await rm(cwd, { recursive: true });
    }
  });

  it('that are no pipeline are told', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-config-'));
    try {
      await writeFile(join(cwd, 'a.mjs'), 'export const x = 1;');
      await writeFile(join(cwd, 'b.mjs'), 'throw new Error("broken");');
      await writeFile(join(cwd, 'c.mjs'), 'const c = {}; c.name = c; export default c;');
      for (const [file, message] of [
        ['a.mjs', 'expected `export default defineConfig'],
        ['b.mjs', 'could not be loaded: broken'],
        ['c.mjs', 'holds itself'],
      ]) {
        await expect(loadPipeline({ file, env: {}, overrides: [], cwd })).rejects.toThrow(message);
      }
    } finally {
      await rm(cwd, { recursive: true });
    }
  });
});

it('a file that is not there is CONFIG_NOT_FOUND', async () => {
  await expect(
    loadPipeline({ file: 'none.yaml', env: {}, overrides: [], cwd: '/base' }),
  ).rejects.toMatchObject({ code: 'CONFIG_NOT_FOUND', exitCode: 78 });
  await expect(loadPipeline({ file: '.', env: {}, overrides: [], cwd: tmpdir() })).rejects.toThrow(
    'this is a directory',
  );
});

it('warns of rules that no topic comes to', async () => {
  const rules = (...matches: string[]) =>
    `${SMALL}tables: [${matches.map((match, i) => `{ match: "${match}", table: "b.t${i}" }`).join(', ')}]\n`;
  const warned = async (...matches: string[]) =>
    (await load(rules(...matches))).warnings.map((w) => `${w.path} ${w.message}`);
  expect(await warned('a', 'b', 'a')).toEqual([
    'tables[2] this rule is never reached: tables[0] matches a too',
  ]);
  expect(await warned('*', 'a')).toEqual([
    'tables[1] this rule is never reached: tables[0] matches every topic',
  ]);
  expect(await warned('a', 'a*', '*')).toEqual([]);
});
