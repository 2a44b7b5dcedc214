/** A token of OAUTHBEARER. */
export interface OAuthToken {
  readonly value: string;
  /** Milliseconds since 1970; null where it is not known. */
  readonly expiresAtMs: number | null;
}

/**
 * Gives the token to log in with, from a cache or newly fetched. `refused` is one that a broker has just refused: another
 * is wanted. May be called often.
 */
export type TokenFunction = (refused?: string) => Promise<OAuthToken>;

/** What a program gives as `kafka.sasl.oauthbearer.token`: a JWT says itself when it expires. */
export type TokenInput = () =>
  | string
  | { value: string; expiresAtMs?: number }
  | Promise<string | { value: string; expiresAtMs?: number }>;
