/** `kafka.*`: what the Kafka client takes, under the names of Kafka's own configuration. */
import type { Option, UnsupportedOption } from './option.ts';

const SINCE = '0.1.0';

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
      pattern: /^[^\s,/]+:\d+(\s*,\s*[^\s,/]+:\d+)*$/,
      what: 'host:port, several with commas between, without a scheme',
    },
  }),
  kafka('security.protocol', 'How to connect: with or without TLS (SSL), with or without a login (SASL).', {
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
    "Java's form of a login, as Spark jobs have it: PlainLoginModule, ScramLoginModule or OAuthBearerLoginModule.",
    {
      secret: true,
    },
  ),
  kafka(
    'sasl.oauthbearer.token',
    'The token of OAUTHBEARER; in `sluice.config.ts` also a function that gives one.',
    {
      secret: true,
    },
  ),
  kafka(
    'sasl.oauthbearer.token.endpoint.url',
    'Where client credentials are turned into tokens (https), or a `file:` URL of a file that holds a token and is read again when it is needed.',
    {
      type: {
        kind: 'text',
        pattern: /^(https?|file):\/\/\S+$/,
        what: 'a URL that begins with https://, http:// or file://',
      },
    },
  ),
  kafka('sasl.oauthbearer.client.credentials.client.id', 'The client id for the token endpoint.'),
  kafka('sasl.oauthbearer.client.credentials.client.secret', 'The client secret for the token endpoint.', {
    secret: true,
  }),
  kafka('sasl.oauthbearer.scope', 'The scope that is asked for at the token endpoint.'),
  kafka(
    'sasl.oauthbearer.header.urlencode',
    'Whether id and secret are encoded as RFC 6749 has it before they go to the token endpoint.',
    { type: { kind: 'boolean' }, default: false },
  ),
  kafka(
    'sasl.oauthbearer.extensions',
    'SASL extensions, `name=value` with commas between, such as `logicalCluster=lkc-1`.',
  ),
  kafka(
    'sasl.oauthbearer.ssl.truststore.location',
    'A PEM file with the authorities that are trusted for the token endpoint.',
  ),
  kafka('sasl.oauthbearer.ssl.truststore.certificates', 'The same certificates as PEM text.'),
  kafka('sasl.login.connect.timeout.ms', 'How long a connection to the token endpoint may take to be made.', {
    type: { kind: 'integer', min: 1, max: 3_600_000 },
    unit: 'ms',
    default: 10_000,
  }),
  kafka(
    'sasl.login.read.timeout.ms',
    'How long the token endpoint, or the token function, may take to answer.',
    {
      type: { kind: 'integer', min: 1, max: 3_600_000 },
      unit: 'ms',
      default: 10_000,
    },
  ),
  kafka('sasl.login.callback.handler.class', 'The class by which a Java client gets its tokens.', {
    type: {
      kind: 'text',
      pattern: /^([\w$]+\.)*OAuthBearerLoginCallbackHandler$/,
      what: "Kafka's OAuthBearerLoginCallbackHandler; for another class, give a function in sluice.config.ts as kafka.sasl.oauthbearer.token",
    },
    noEffect: 'a token endpoint is asked for tokens without it',
  }),
  ...[
    'sasl.login.refresh.window.factor',
    'sasl.login.refresh.window.jitter',
    'sasl.login.refresh.min.period.seconds',
    'sasl.login.refresh.buffer.seconds',
  ].map((key) =>
    kafka(key, 'When a Java client renews its token.', {
      noEffect: 'a token is renewed when 80 % of its life is over',
    }),
  ),
  ...['sasl.login.retry.backoff.ms', 'sasl.login.retry.backoff.max.ms'].map((key) =>
    kafka(key, 'How long a Java client waits before it asks for a token again.', {
      noEffect: 'a token endpoint that fails is asked three times within sasl.login.read.timeout.ms',
    }),
  ),
  kafka(
    'ssl.truststore.location',
    'A PEM file with the certificates of the authorities that are trusted; those that Node brings where it is left out.',
  ),
  kafka('ssl.truststore.certificates', 'The same certificates as PEM text.'),
  kafka('ssl.truststore.type', 'Only PEM.', { type: { kind: 'choice', values: ['PEM'] } }),
  kafka('ssl.keystore.location', 'A PEM file with our own certificate and key, or a PKCS12 file.'),
  kafka('ssl.keystore.type', 'PEM or PKCS12; the file itself tells where it is left out.', {
    type: { kind: 'choice', values: ['PEM', 'PKCS12'] },
  }),
  kafka('ssl.keystore.password', 'The password of a PKCS12 file.', { secret: true }),
  kafka('ssl.keystore.certificate.chain', 'Our own certificate, and those that vouch for it, as PEM text.'),
  kafka('ssl.keystore.key', 'The key of our own certificate as PEM text.', { secret: true }),
  kafka('ssl.key.password', 'The password of the key.', { secret: true }),
  kafka('ssl.enabled.protocols', 'The versions of TLS that may be used.', {
    type: {
      kind: 'text',
      pattern: /^TLSv1\.[23](\s*,\s*TLSv1\.[23])?$/,
      what: 'TLSv1.2, TLSv1.3 or both with a comma between',
    },
    default: 'TLSv1.2,TLSv1.3',
  }),
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
  kafka(
    'request.timeout.ms',
    'How long one request waits for its answer before it is tried again; where it is left out, no longer than a third of kafka.request.deadline.',
    {
      type: { kind: 'integer', min: 1, max: 3_600_000 },
      unit: 'ms',
      default: 30_000,
    },
  ),
  kafka(
    'socket.connection.setup.timeout.ms',
    'How long a connection may take to be made; where it is left out, no longer than a third of kafka.request.deadline.',
    {
      type: { kind: 'integer', min: 1, max: 3_600_000 },
      unit: 'ms',
      default: 10_000,
    },
  ),
  kafka('group.id', 'Accepted for the sake of Spark jobs.', {
    noEffect: 'Sluice reads without a consumer group; the checkpoint says how far it has read',
  }),
];

/** Security options of other clients, and of Java alone: nothing that secures a connection is passed over. */
const OTHER_NAMES: readonly (readonly [string, string])[] = [
  ['ssl.ca.location', 'use kafka.ssl.truststore.location'],
  ['ssl.ca.pem', 'use kafka.ssl.truststore.certificates'],
  ['ssl.certificate.location', 'put certificate and key into one PEM file: kafka.ssl.keystore.location'],
  ['ssl.certificate.pem', 'use kafka.ssl.keystore.certificate.chain'],
  ['ssl.key.location', 'use kafka.ssl.keystore.key: file:/path/to/key'],
  ['ssl.key.pem', 'use kafka.ssl.keystore.key'],
  [
    'enable.ssl.certificate.verification',
    'give the authority of the brokers as kafka.ssl.truststore.location',
  ],
  ['sasl.mechanisms', 'use kafka.sasl.mechanism'],
  ['sasl.oauthbearer.config', 'use kafka.sasl.oauthbearer.token'],
  ['sasl.oauthbearer.method', 'use kafka.sasl.oauthbearer.token.endpoint.url'],
  ['sasl.oauthbearer.client.id', 'use kafka.sasl.oauthbearer.client.credentials.client.id'],
  ['sasl.oauthbearer.client.secret', 'use kafka.sasl.oauthbearer.client.credentials.client.secret'],
  ['ssl.protocol', 'use kafka.ssl.enabled.protocols'],
  ['ssl.cipher.suites', 'leave it out; the ciphers are those of Node'],
  ['ssl.provider', 'leave it out; it is of Java'],
  ['ssl.keymanager.algorithm', 'leave it out; it is of Java'],
  ['ssl.trustmanager.algorithm', 'leave it out; it is of Java'],
  ['ssl.secure.random.implementation', 'leave it out; it is of Java'],
  ['ssl.engine.factory.class', 'leave it out; it is of Java'],
  ['security.providers', 'leave it out; it is of Java'],
  ['sasl.client.callback.handler.class', 'leave it out; it is of Java'],
  ['sasl.login.class', 'leave it out; it is of Java'],
  ['sasl.kerberos.service.name', 'leave it out; there is no Kerberos here'],
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
    key: 'kafka.ssl.truststore.password',
    instead:
      'give the certificates as PEM, which has no password: keytool -exportcert -rfc, or openssl pkcs12 -nokeys',
  },
  {
    section: 'source',
    key: 'kafka.ssl.truststore.type',
    values: ['JKS', 'PKCS12'],
    instead:
      'make PEM of it: openssl pkcs12 -in STORE -nokeys -out ca.pem (of JKS: keytool -importkeystore -deststoretype PKCS12 first)',
  },
  {
    section: 'source',
    key: 'kafka.ssl.keystore.type',
    values: ['JKS'],
    instead:
      'make PKCS12 of it: keytool -importkeystore -srckeystore STORE -destkeystore store.p12 -deststoretype PKCS12',
  },
  {
    section: 'source',
    key: 'kafka.sasl.mechanism',
    values: ['GSSAPI'],
    instead: 'use SCRAM-SHA-512, OAUTHBEARER or a client certificate; there is no Kerberos here',
  },
  ...OTHER_NAMES.map(([key, instead]) => ({ section: 'source' as const, key: `kafka.${key}`, instead })),
];
