import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { SluiceError } from '../../errors.ts';
import type { SaslExchange } from './exchange.ts';

/** What Kafka's own client demands (ScramMechanism); fewer would make the password easy to guess from a log of the exchange. */
const MIN_ITERATIONS = 4096;
/** A broker that asks for more wants to keep us busy; Kafka itself allows 16384. */
const MAX_ITERATIONS = 1_000_000;

const HASHES = { 'SCRAM-SHA-256': ['sha256', 32], 'SCRAM-SHA-512': ['sha512', 64] } as const;

export interface ScramOptions {
  readonly mechanism: keyof typeof HASHES;
  readonly username: string;
  readonly password: string;
  /** Printable, no comma; random where it is left out. */
  readonly nonce?: string;
}

const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?';
const SERVER_FIRST = new RegExp(
  `^(?:m=[^,]*,)?r=([\\x21-\\x2b\\x2d-\\x7e]+),s=(${BASE64}),i=([0-9]{1,9})(?:,[A-Za-z]+=[^,]+)*$`,
);
const SERVER_FINAL = new RegExp(`^(?:e=([^,]+)|v=(${BASE64}))(?:,[A-Za-z]+=[^,]+)*$`);

/**
 * SCRAM (RFC 5802, RFC 7677) without channel binding, as Kafka has it. The password goes in as the bytes of its UTF-8:
 * Kafka stores it so, without SASLprep. The broker has to prove at the end that it knows the password too.
 */
export function scramExchange(options: ScramOptions): SaslExchange {
  const { mechanism, username, password } = options;
  const [hash, size] = HASHES[mechanism];
  const nonce = options.nonce ?? randomBytes(24).toString('base64url');
  const name = username.replaceAll('=', '=3D').replaceAll(',', '=2C');
  const firstBare = `n=${name},r=${nonce}`;
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest();
  let expected: Buffer | null = null;

  const answer = async (text: string): Promise<Buffer> => {
    const match = SERVER_FIRST.exec(text);
    if (match === null) throw untrusted(mechanism, 'the first message does not follow RFC 5802');
    const [, serverNonce, salt, count] = match;
    const iterations = Number(count);
    if (!serverNonce.startsWith(nonce) || serverNonce === nonce)
      throw untrusted(mechanism, 'it did not carry our nonce on');
    if (iterations < MIN_ITERATIONS || iterations > MAX_ITERATIONS) {
      throw untrusted(
        mechanism,
        `it asks for ${iterations} iterations, ${MIN_ITERATIONS} to ${MAX_ITERATIONS} are accepted`,
      );
    }
    const withoutProof = `c=biws,r=${serverNonce}`;
    const message = `${firstBare},${text},${withoutProof}`;
    const salted = await promisify(pbkdf2)(password, Buffer.from(salt, 'base64'), iterations, size, hash);
    const clientKey = hmac(salted, 'Client Key');
    const signature = hmac(createHash(hash).update(clientKey).digest(), message);
    const proof = clientKey.map((byte, i) => byte ^ signature[i]);
    expected = hmac(hmac(salted, 'Server Key'), message);
    return Buffer.from(`${withoutProof},p=${Buffer.from(proof).toString('base64')}`);
  };

  return {
    first: async () => Buffer.from(`n,,${firstBare}`),
    async next(challenge) {
      const text = challenge.toString('utf8');
      if (expected === null) return answer(text);
      const match = SERVER_FINAL.exec(text);
      if (match?.[1] !== undefined)
        throw untrusted(mechanism, `it ended the exchange with "${match[1].slice(0, 80)}"`);
      const theirs = Buffer.from(match?.[2] ?? '', 'base64');
      if (theirs.length !== expected.length || !timingSafeEqual(theirs, expected)) {
        throw untrusted(mechanism, 'it could not prove that it knows the password: its signature is wrong');
      }
      return null;
    },
  };
}

function untrusted(mechanism: string, what: string): SluiceError {
  return new SluiceError('KAFKA_AUTH', `the broker cannot be trusted by ${mechanism}: ${what}`);
}
