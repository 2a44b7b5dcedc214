import { describe, expect, it } from 'vitest';
import { isCertificate, isPrivateKey, pemBlocks } from '../../../../src/kafka/security/pem.ts';

const BODY = 'QUJD'.repeat(40);
const WRAPPED = `${'QUJD'.repeat(16)}\n${'QUJD'.repeat(16)}\n${'QUJD'.repeat(8)}`;
const certificate = (body: string): string => `-----BEGIN CERTIFICATE-----${body}-----END CERTIFICATE-----`;
const GOOD = {
  label: 'CERTIFICATE',
  text: `-----BEGIN CERTIFICATE-----\n${WRAPPED}\n-----END CERTIFICATE-----\n`,
};

describe('pemBlocks', () => {
  it.each([
    ['as files have it', `Bag Attributes\n${certificate(`\n${WRAPPED}\n`)}\ntrailing`],
    ['with the ends of lines of Windows', certificate(`\r\n${WRAPPED.replaceAll('\n', '\r\n')}\r\n`)],
    ['in one line with blanks', certificate(` ${WRAPPED.replaceAll('\n', ' ')} `)],
    ['in one line without blanks', certificate(BODY)],
    ['with \\n for the ends of lines', certificate(`\\n${WRAPPED.replaceAll('\n', '\\n')}\\n`)],
  ])('reads a text %s', (_what, text) => {
    expect(pemBlocks(text)).toEqual([GOOD]);
  });

  it('tells several blocks apart, in their order', () => {
    const key = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nQUJD\n-----END ENCRYPTED PRIVATE KEY-----';
    const blocks = pemBlocks(`${key}\n${certificate(BODY)}\n${certificate('QQ==')}`);
    expect(blocks.map((b) => b.label)).toEqual(['ENCRYPTED PRIVATE KEY', 'CERTIFICATE', 'CERTIFICATE']);
    expect([blocks.filter(isPrivateKey).length, blocks.filter(isCertificate).length]).toEqual([1, 2]);
  });

  it('leaves the header lines of an old encrypted key', () => {
    const key =
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nQUJD\n-----END RSA PRIVATE KEY-----';
    expect(pemBlocks(key)).toEqual([{ label: 'RSA PRIVATE KEY', text: `${key}\n` }]);
  });

  it.each(['', 'no block', '-----BEGIN CERTIFICATE-----\nQUJD', '-----BEGIN A-----\nQUJD\n-----END B-----'])(
    'finds nothing in %j',
    (text) => {
      expect(pemBlocks(text)).toEqual([]);
    },
  );
});
