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
    ['kafka.security.protocol', 'SASL_SSL'],
    ['security.protocol', 'SSL'],
    ['kafka.sasl.mechanism', 'PLAIN'],
    ['kafka.sasl.password', 'secret'],
    ['kafka.ssl.truststore.certificates', 'PEM'],
    ['kafka.security.providers', 'x'],
  ])('refuses %s=%s and never shows a secret', (key, value) => {
    let message = '';
    try {
      settings({ [key]: value });
    } catch (e) {
      message = (e as Error).message;
    }
    expect(message).toMatch(/^UNSUPPORTED: option kafka\./);
    expect(message).not.toContain('secret');
  });

  it.each(['0', '-1', 'x', '1.5', '99999999'])('refuses a time-out of %s', (value) => {
    expect(() => settings({ 'kafka.request.timeout.ms': value })).toThrow(
      /^CONFIG_INVALID: option kafka\.request\.timeout\.ms/,
    );
  });
});
