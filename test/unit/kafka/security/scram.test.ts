import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { saslprep } from '../../../../src/kafka/security/saslprep.ts';
import { type ScramOptions, scramExchange } from '../../../../src/kafka/security/scram.ts';

const USER = { username: 'user', password: 'pencil' };

/** The exchange of RFC 7677, section 3. */
const RFC = {
  options: { ...USER, mechanism: 'SCRAM-SHA-256', nonce: 'rOprNGfwEbeRWgbNEkqO' } satisfies ScramOptions,
  clientFirst: 'n,,n=user,r=rOprNGfwEbeRWgbNEkqO',
  serverFirst: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  clientFinal:
    'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  serverFinal: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
};

const text = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString();

/** The server's side, by the formulas of RFC 5802, 3. */
function server(options: ScramOptions, salt: string, iterations: number) {
  const [hash, size] = options.mechanism === 'SCRAM-SHA-512' ? ['sha512', 64] : ['sha256', 32];
  const hmac = (key: Buffer, message: string) => createHmac(hash, key).update(message).digest();
  const salted = pbkdf2Sync(options.password, Buffer.from(salt, 'base64'), iterations, size as number, hash);
  return (clientFirst: string, serverFirst: string, clientFinal: string) => {
    const [withoutProof, proof] = clientFinal.split(',p=');
    const message = `${clientFirst.slice(3)},${serverFirst},${withoutProof}`;
    const clientKey = hmac(salted, 'Client Key');
    const signature = hmac(createHash(hash).update(clientKey).digest(), message);
    const found = Buffer.from(proof, 'base64').map((byte, i) => byte ^ signature[i]);
    return {
      proven: Buffer.compare(found, clientKey) === 0,
      final: `v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`,
    };
  };
}

describe('SCRAM', () => {
  it('is that of RFC 7677', async () => {
    const exchange = scramExchange(RFC.options);
    expect(text(await exchange.first())).toBe(RFC.clientFirst);
    expect(text(await exchange.next(Buffer.from(RFC.serverFirst)))).toBe(RFC.clientFinal);
    expect(await exchange.next(Buffer.from(RFC.serverFinal))).toBeNull();
  });

  it.each(['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
    '%s proves the password both ways',
    async (mechanism) => {
      const options = { mechanism, username: 'a=b,c', password: 'p,=ß' };
      const exchange = scramExchange(options);
      const first = text(await exchange.first());
      const nonce = /^n,,n=a=3Db=2Cc,r=([\w-]{32})$/.exec(first)?.[1];
      const serverFirst = `r=${nonce}xyz,s=QUJD,i=5000,ext=1`;
      const final = text(await exchange.next(Buffer.from(serverFirst)));
      const answer = server(options, 'QUJD', 5000)(first, serverFirst, final);
      expect(answer.proven).toBe(true);
      expect(await exchange.next(Buffer.from(answer.final))).toBeNull();
    },
  );

  it('takes another nonce each time', async () => {
    const first = () =>
      scramExchange({ ...USER, mechanism: 'SCRAM-SHA-256' })
        .first()
        .then(text);
    expect(await first()).not.toBe(await first());
  });

  it.each([
    ['another nonce', RFC.serverFirst.replace('rOprNGfwEbe', 'xOprNGfwEbe'), /nonce/],
    ['our nonce alone', RFC.serverFirst.replace('%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0', ''), /nonce/],
    ['too few iterations', RFC.serverFirst.replace('4096', '4095'), /4095 iterations, 4096 to/],
    ['far too many iterations', RFC.serverFirst.replace('4096', '999999999'), /999999999 iterations/],
    ['a salt that is no base64', RFC.serverFirst.replace('W22Z', 'W2!Z'), /RFC 5802/],
    ['no salt', 'r=rOprNGfwEbeRWgbNEkqOx,i=4096', /RFC 5802/],
    ['an error', 'e=other-error', /RFC 5802/],
    ['nothing', '', /RFC 5802/],
    ['what an attacker may send', `r=${'a,'.repeat(20_000)}`, /RFC 5802/],
  ])('trusts no broker that sends %s first', async (_what, message, expected) => {
    const exchange = scramExchange(RFC.options);
    await exchange.first();
    await expect(exchange.next(Buffer.from(message))).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      retryable: false,
      message: expect.stringMatching(expected),
    });
  });

  it.each([
    ['a wrong signature', RFC.serverFinal.replace('6rri', '7rri'), /signature is wrong/],
    ['a short signature', 'v=6rri', /signature is wrong/],
    ['no signature', 'v=', /signature is wrong/],
    ['nothing', '', /signature is wrong/],
    ['an error', 'e=invalid-proof', /"invalid-proof"/],
  ])('trusts no broker that sends %s at the end', async (_what, message, expected) => {
    const exchange = scramExchange(RFC.options);
    await exchange.first();
    await exchange.next(Buffer.from(RFC.serverFirst));
    const ending = exchange.next(Buffer.from(message));
    await expect(ending).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      message: expect.stringMatching(expected),
    });
    await expect(ending).rejects.not.toThrow('pencil');
  });
});

describe('SASLprep', () => {
  it.each([
    ['user', 'user'],
    // The examples of RFC 4013, section 3.
    ['I\u00adX', 'IX'],
    ['USER', 'USER'],
    ['\u00aa', 'a'],
    ['\u2168', 'IX'],
    ['\u0007', null],
    ['\u0627\u0031', null],
    ['a\u00a0b\u3000c', 'a b c'],
    ['p\u200dq\ufe0f', 'pq'],
    ['gr\u0075\u0308n', 'gr\u00fcn'],
    ['\u0627\u0628', '\u0627\u0628'],
    ['\u0627a\u0628', null],
    ['\ue000', null],
    ['\ufffd', null],
    ['\u00ad', null],
    ['\u{1f511}', '\u{1f511}'],
  ])('of %j is %j', (before, after) => {
    expect(saslprep(before)).toBe(after);
  });
});
