/** A token endpoint on loopback that signs JWTs, and misbehaves as it is told. */
import { generateKeyPairSync, sign } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TokenServer {
  readonly url: string;
  /** The keys with which a broker checks the tokens (RFC 7517). */
  readonly jwks: string;
  /** How often a token was given out. */
  readonly issued: number;
  /** What the next requests get; `null` for tokens. */
  answer: ((response: http.ServerResponse) => void) | null;
  /** Seconds that a token holds. */
  lifetime: number;
  /** A token without asking the endpoint. */
  token(claims?: Record<string, unknown>): string;
  close(): Promise<void>;
}

export const CLIENT = { id: 'sluice-client', secret: 'a+b/c=:secret' };

export async function startTokenServer(subject: string): Promise<TokenServer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const expected = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`;
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
      if (state.answer !== null) return state.answer(response);
      if (request.headers.authorization !== expected || request.method !== 'POST') {
        // As a careless server might: what it was given comes back.
        const basic = (request.headers.authorization ?? '').slice('Basic '.length);
        const secret = Buffer.from(basic, 'base64').toString().split(':').slice(1).join(':');
        response.writeHead(401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: 'invalid_client', error_description: `not ${secret}` }));
        return;
      }
      state.issued++;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ access_token: state.token(), expires_in: state.lifetime, token_type: 'Bearer' }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let count = 0;
  const state = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    jwks: JSON.stringify({
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }],
    }),
    issued: 0,
    answer: null as TokenServer['answer'],
    lifetime: 3600,
    token(claims: Record<string, unknown> = {}): string {
      const now = Math.floor(Date.now() / 1000);
      const payload = {
        sub: subject,
        iat: now,
        exp: now + state.lifetime,
        jti: String(++count),
        scope: 'kafka',
        ...claims,
      };
      const signed = `${encode({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${encode(payload)}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return state;
}
