import { describe, expect, it } from 'vitest';
import {
  formatAddress,
  parseBootstrapServers,
  readClientSettings,
} from '../../../src/kafka/client-options.ts';

const settings = (kafka: Record<string, string>) =>
  readClientSettings({ bootstrapServers: 'a:9092', clientId: 't', kafka, requestDeadlineMs: 1 });

describe('bootstrap servers', () => {
  it('reads lists, IPv6 and listener names', () => {
    expect(parseBootstrapServers('a:9092, [::1]:9093 ,PLAINTEXT://b.example.org:1,')).toEqual([
      { host: 'a', port: 9092 },
      { host: '::1', port: 9093 },
      { host: 'b.example.org', port: 1 },
    ]);
    expect(formatAddress({ host: '::1', port: 9093 })).toBe('[::1]:9093');
  });

  it.each(['', ' , ', 'a', 'a:', 'a:0', 'a:65536', 'a:b', '::1:9092', 'a b:1', 'http://a:1/'])(
    'refuses "%s"',
    (text) => {
      expect(() => parseBootstrapServers(text)).toThrow(/^CONFIG_INVALID: option kafka\.bootstrap\.servers/);
    },
  );
});

describe('kafka.* options', () => {
  it('takes what it needs, with or without the prefix, and names what it does not use', () => {
    expect(
      settings({
        'kafka.request.timeout.ms': '1000',
        'client.rack': 'r1',
        'kafka.security.protocol': 'plaintext',
        'kafka.fetch.min.bytes': '1',
        'kafka.isolation.level': 'read_committed',
      }),
    ).toMatchObject({ requestTimeoutMs: 1000, rack: 'r1', unused: ['kafka.fetch.min.bytes'] });
  });

  it.each([
    [{}, 300_000, 30_000, 10_000],
    [{}, 15_000, 5000, 5000],
    [{}, 60_000, 20_000, 10_000],
    [{}, 1000, 1000, 1000],
    [{ 'request.timeout.ms': '40000', 'socket.connection.setup.timeout.ms': '20000' }, 1000, 40_000, 20_000],
  ])(
    '%o: fits the time-outs that are not given to a deadline of %d ms',
    (kafka, deadline, request, connect) => {
      const client = { bootstrapServers: 'a:9092', clientId: 't', kafka: kafka as Record<string, string> };
      expect(readClientSettings({ ...client, requestDeadlineMs: deadline })).toMatchObject({
        requestTimeoutMs: request,
        connectTimeoutMs: connect,
      });
    },
  );

  it('reads a login and TLS, with or without the prefix', () => {
    const { security, unused } = settings({
      'kafka.security.protocol': 'sasl_ssl',
      'sasl.mechanism': 'SCRAM-SHA-512',
      'kafka.sasl.username': 'u',
      'sasl.password': 'p',
      'kafka.ssl.truststore.location': '/ca.pem',
      'ssl.enabled.protocols': 'TLSv1.3',
      'ssl.endpoint.identification.algorithm': '',
      'kafka.sasl.login.refresh.buffer.seconds': '5',
    });
    expect(security).toMatchObject({
      protocol: 'SASL_SSL',
      login: { mechanism: 'SCRAM-SHA-512', username: 'u', password: 'p' },
      tls: { truststoreLocation: '/ca.pem', checkHostName: false, minVersion: 'TLSv1.3', keyPassword: null },
    });
    expect(unused).toEqual([]);
    expect(settings({ 'security.protocol': 'SSL' }).security).toMatchObject({
      login: null,
      tls: { checkHostName: true, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' },
    });
    expect(settings({ 'security.protocol': 'PLAINTEXT', 'ssl.truststore.type': 'PEM' }).security).toBeNull();
  });

  it('reads the ways to a token', () => {
    const oauth = { 'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'OAUTHBEARER' };
    const endpoint = {
      'sasl.oauthbearer.token.endpoint.url': 'https://idp.example.org/token?x=1',
      'sasl.oauthbearer.client.credentials.client.id': 'id',
      'sasl.oauthbearer.client.credentials.client.secret': 'secret',
      'sasl.oauthbearer.extensions': 'logicalCluster=lkc-1, identityPoolId=pool',
    };
    expect(settings({ ...oauth, ...endpoint }).security?.login).toMatchObject({
      endpoint: { clientId: 'id', clientSecret: 'secret', scope: null, urlEncode: false },
      extensions: [
        ['logicalCluster', 'lkc-1'],
        ['identityPoolId', 'pool'],
      ],
      token: null,
      readTimeoutMs: 10_000,
    });
    expect(settings({ ...oauth, 'sasl.oauthbearer.token': 't' }).security?.login).toMatchObject({
      token: 't',
      endpoint: null,
    });
  });

  const sasl = { 'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'PLAIN' };
  const oauth = { 'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'OAUTHBEARER' };

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a password without a protocol',
      { 'sasl.password': 'hunter2' },
      /^CONFIG_INVALID.*security\.protocol.*sasl\.password is given/,
    ],
    [
      'a password on PLAINTEXT',
      { 'security.protocol': 'PLAINTEXT', 'sasl.password': 'hunter2' },
      /^CONFIG_INVALID.*PLAINTEXT does not log in/,
    ],
    ['another protocol', { 'security.protocol': 'hunter2' }, /^CONFIG_INVALID.*security\.protocol/],
    ['no mechanism', { 'security.protocol': 'SASL_SSL' }, /^CONFIG_INVALID.*sasl\.mechanism/],
    ['another mechanism', { ...sasl, 'sasl.mechanism': 'GSSAPI' }, /^UNSUPPORTED.*sasl\.mechanism/],
    ['no user', { ...sasl, 'sasl.password': 'hunter2' }, /^CONFIG_INVALID.*sasl\.username/],
    ['no password', { ...sasl, 'sasl.username': 'u' }, /^CONFIG_INVALID.*sasl\.password/],
    [
      'NUL in a password',
      { ...sasl, 'sasl.username': 'u', 'sasl.password': 'hunter2\0' },
      /^CONFIG_INVALID.*sasl\.password/,
    ],
    [
      'an option that is not known',
      { 'security.protocol': 'SSL', 'ssl.cipher.suites': 'hunter2' },
      /^UNSUPPORTED: option kafka\.ssl\.cipher\.suites/,
    ],
    [
      'old TLS',
      { 'security.protocol': 'SSL', 'ssl.enabled.protocols': 'TLSv1.1' },
      /^CONFIG_INVALID.*ssl\.enabled\.protocols/,
    ],
    [
      'no secret for the endpoint',
      {
        ...oauth,
        'sasl.oauthbearer.token.endpoint.url': 'https://a/b',
        'sasl.oauthbearer.client.credentials.client.id': 'i',
      },
      /^CONFIG_INVALID.*client\.secret/,
    ],
    [
      'a URL of another kind',
      { ...oauth, 'sasl.oauthbearer.token.endpoint.url': 'ftp://a/b' },
      /^CONFIG_INVALID.*endpoint\.url/,
    ],
    [
      'a password in the URL',
      { ...oauth, 'sasl.oauthbearer.token.endpoint.url': 'https://u:hunter2@a/b' },
      /^CONFIG_INVALID.*endpoint\.url/,
    ],
    [
      'the extension auth',
      { ...oauth, 'sasl.oauthbearer.extensions': 'auth=hunter2' },
      /^CONFIG_INVALID.*extensions/,
    ],
    [
      'a control character in an extension',
      { ...oauth, 'sasl.oauthbearer.extensions': 'a=hunter2\x01' },
      /^CONFIG_INVALID.*extensions/,
    ],
  ])('refuses %s, and shows no value', (_what, kafka, message) => {
    let text = '';
    try {
      settings(kafka);
    } catch (e) {
      text = (e as Error).message;
    }
    expect(text).toMatch(message);
    expect(text).not.toContain('hunter2');
  });

  it.each(['0', '-1', 'x', '1.5', '99999999'])('refuses a time-out of %s', (value) => {
    expect(() => settings({ 'kafka.request.timeout.ms': value })).toThrow(
      /^CONFIG_INVALID: option kafka\.request\.timeout\.ms/,
    );
  });
});
