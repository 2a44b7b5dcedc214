/** The client's side of one login, as the mechanism has it. */
export interface SaslExchange {
  /** What the client says first. */
  first(): Promise<Uint8Array>;
  /** The client's answer to what the broker said; null where the login is complete. Throws where the broker is not to be trusted. */
  next(challenge: Buffer): Promise<Uint8Array | null>;
}

/** PLAIN (RFC 4616): the password itself, so only over TLS, or in a network that is trusted. */
export function plainExchange(username: string, password: string): SaslExchange {
  return {
    first: async () => Buffer.from(`\0${username}\0${password}`),
    next: async () => null,
  };
}
