import type { Api } from './api.ts';

/**
 * SaslHandshake (17). Only version 1, after which the exchange goes on in SaslAuthenticate requests (KIP-152, Kafka 1.0);
 * after version 0 it would go on in bare bytes.
 */
export const saslHandshake: Api<{ mechanism: string }, { errorCode: number; mechanisms: readonly string[] }> =
  {
    name: 'SaslHandshake',
    key: 17,
    min: 1,
    max: 1,
    flexibleFrom: 99,
    write(w, { mechanism }) {
      w.string(mechanism);
    },
    read(r) {
      return { errorCode: r.int16(), mechanisms: r.array(() => r.string()) };
    },
  };

export interface SaslAuthenticateResponse {
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly bytes: Buffer;
  /** For how long the login holds; 0 for as long as the connection does (KIP-368). */
  readonly sessionLifetimeMs: number;
}

/** SaslAuthenticate (36): one message of the mechanism, and the broker's answer to it. */
export const saslAuthenticate: Api<{ bytes: Uint8Array }, SaslAuthenticateResponse> = {
  name: 'SaslAuthenticate',
  key: 36,
  min: 0,
  max: 2,
  flexibleFrom: 2,
  write(w, { bytes }) {
    w.bytesLength(bytes.length).raw(bytes).tags();
  },
  read(r, version) {
    const errorCode = r.int16();
    const errorMessage = r.nullableString();
    const bytes = r.bytes();
    const sessionLifetimeMs = version >= 1 ? Number(r.int64()) : 0;
    r.tags();
    return { errorCode, errorMessage, bytes, sessionLifetimeMs };
  },
};
