/** `kafka.*`: what the Kafka client takes, under the names of Kafka's own configuration. */
import type { Option, UnsupportedOption } from './option.ts';

const SINCE = '0.1.0';

/** What the Kafka client of this version can do. The options of the others are checked, so that they can come by themselves. */
export const SUPPORTED_PROTOCOLS: readonly string[] = ['PLAINTEXT'];

const kafka = (key: string, doc: string, rest: Partial<Option> = {}): Option => ({
  section: 'source',
  key: `kafka.${key}`,
  doc,
  type: { kind: 'text' },
  since: SINCE,
  ...rest,
});

export const KAFKA_OPTIONS: readonly Option[] = [
  kafka('bootstrap.servers', 'Brokers to ask first, `host:port` with commas between.', {
    required: true,
    type: {
      kind: 'text',
      pattern: /^[^\s,]+:\d+(\s*,\s*[^\s,]+:\d+)*$/,
      what: 'host:port, several with commas between',
    },
  }),
  kafka('security.protocol', 'How to connect; only PLAINTEXT in this version.', {
    type: { kind: 'choice', values: ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] },
    default: 'PLAINTEXT',
  }),
  kafka('sasl.mechanism', 'How to log in.', {
    type: { kind: 'choice', values: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] },
  }),
  kafka('sasl.username', 'The user of PLAIN and SCRAM.'),
  kafka('sasl.password', 'The password of PLAIN and SCRAM.', { secret: true }),
  kafka(
    'sasl.jaas.config',
    "Java's form of user and password, as Spark jobs have it; the login modules of PLAIN and SCRAM are read.",
    {
      secret: true,
    },
  ),
  kafka('sasl.oauthbearer.token', 'The token of OAUTHBEARER.', { secret: true }),
  kafka('ssl.truststore.location', 'A PEM file with the certificates of the authorities that are trusted.'),
  kafka('ssl.truststore.certificates', 'The same certificates as PEM text.'),
  kafka('ssl.truststore.type', 'Only PEM.', { type: { kind: 'choice', values: ['PEM'] } }),
  kafka('ssl.keystore.location', 'A PEM file with our own certificate and key.'),
  kafka('ssl.keystore.type', 'Only PEM.', { type: { kind: 'choice', values: ['PEM'] } }),
  kafka('ssl.keystore.certificate.chain', 'Our own certificate as PEM text.'),
  kafka('ssl.keystore.key', 'The key of our own certificate as PEM text.', { secret: true }),
  kafka('ssl.key.password', 'The password of the key.', { secret: true }),
  kafka(
    'ssl.endpoint.identification.algorithm',
    'Whether the name in the certificate of a broker is compared with its host name; the empty text turns it off.',
    {
      type: { kind: 'choice', values: ['https', ''] },
      default: 'https',
    },
  ),
  kafka(
    'client.id',
    'The name that the broker sees in its logs and quotas; `sluice-` and the name of the pipeline where it is left out.',
  ),
  kafka('client.rack', 'The rack of this process: a replica there is read where the broker allows it.'),
  kafka(
    'isolation.level',
    "Whether records of open and aborted transactions are left out. Spark's default is read_uncommitted.",
    {
      type: { kind: 'choice', values: ['read_committed', 'read_uncommitted'] },
      default: 'read_committed',
    },
  ),
  kafka(
    'request.deadline',
    'How long a failing request to the brokers is tried again before the run stops.',
    {
      type: { kind: 'duration', min: 1_000, max: 86_400_000 },
      unit: 'ms',
      default: '5 minutes',
    },
  ),
  kafka('request.timeout.ms', 'How long one request waits for its answer before it is tried again.', {
    type: { kind: 'integer', min: 1, max: 3_600_000 },
    unit: 'ms',
    default: 30_000,
  }),
  kafka('socket.connection.setup.timeout.ms', 'How long a connection may take to be made.', {
    type: { kind: 'integer', min: 1, max: 3_600_000 },
    unit: 'ms',
    default: 10_000,
  }),
  kafka('group.id', 'Accepted for the sake of Spark jobs.', {
    noEffect: 'Sluice reads without a consumer group; the checkpoint says how far it has read',
  }),
];

/** Refused as Spark refuses them: the pipeline decides these. */
export const KAFKA_UNSUPPORTED: readonly UnsupportedOption[] = [
  {
    section: 'source',
    key: 'kafka.auto.offset.reset',
    instead: 'use startingOffsets; Sluice never jumps to another offset by itself',
  },
  {
    section: 'source',
    key: 'kafka.enable.auto.commit',
    instead: 'leave it out; the checkpoint keeps the progress',
  },
  { section: 'source', key: 'kafka.key.deserializer', instead: 'use keyType of the table' },
  { section: 'source', key: 'kafka.value.deserializer', instead: 'use valueType of the table' },
  { section: 'source', key: 'kafka.interceptor.classes', instead: 'leave it out' },
  {
    section: 'source',
    key: 'kafka.ssl.keystore.password',
    instead:
      'give the key as PEM (ssl.keystore.location or ssl.keystore.key), its password as ssl.key.password',
  },
  {
    section: 'source',
    key: 'kafka.ssl.truststore.password',
    instead: 'give the certificates as PEM, which has no password',
  },
];
