import { describe, expect, it } from 'vitest';
import { tlsFault } from '../../../../src/kafka/security/tls-transport.ts';

const fault = (code: string, ownCertificate = false) =>
  tlsFault(Object.assign(new Error('words of OpenSSL'), { code }), { host: 'k', port: 9093 }, ownCertificate);

describe('what TLS says', () => {
  it.each([
    ['CERT_HAS_EXPIRED', /has expired/],
    ['CERT_NOT_YET_VALID', /clocks/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /truststore/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /truststore/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/],
    ['CERT_REVOKED', /CERT_REVOKED: words of OpenSSL/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS/],
    ['ERR_SSL_NO_PROTOCOLS_AVAILABLE', /no TLS connection could be agreed/],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', /\(protocol version\).*enabled\.protocols/],
  ])('%s is a fault of TLS', (code, message) => {
    expect(fault(code)).toMatchObject({
      code: 'KAFKA_TLS',
      retryable: false,
      message: expect.stringMatching(message),
      context: { broker: 'k:9093' },
    });
  });

  it.each([
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
    'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE',
    'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  ])('%s is about the certificate of the client', (code) => {
    expect(fault(code)).toMatchObject({
      code: 'KAFKA_AUTH',
      message: expect.stringContaining('none is given; set kafka.ssl.keystore'),
    });
    expect(fault(code, true)).toMatchObject({
      code: 'KAFKA_AUTH',
      message: expect.stringContaining('refused the certificate of this client'),
    });
  });

  it('a failed handshake may be a missing certificate, but not where one was shown', () => {
    expect(fault('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE')).toMatchObject({ code: 'KAFKA_AUTH' });
    expect(fault('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', true)).toMatchObject({ code: 'KAFKA_TLS' });
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', ''])(
    '%s may pass',
    (code) => {
      expect(fault(code)).toBeNull();
    },
  );
});
