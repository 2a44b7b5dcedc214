import type { SaslExchange } from './exchange.ts';

export interface OAuthBearerExchange extends SaslExchange {
  /** What the broker said of a token that it refuses, `invalid_token` for instance; null before. */
  readonly refusal: string | null;
}

/** OAUTHBEARER (RFC 7628). A broker that refuses says why in JSON, and ends the exchange after one more message of ours. */
export function oauthBearerExchange(
  token: string,
  extensions: readonly (readonly [string, string])[],
): OAuthBearerExchange {
  const more = extensions.map(([name, value]) => `${name}=${value}\x01`).join('');
  let refusal: string | null = null;
  return {
    get refusal() {
      return refusal;
    },
    first: async () => Buffer.from(`n,,\x01auth=Bearer ${token}\x01${more}\x01`),
    async next(challenge) {
      if (challenge.length === 0) return null;
      refusal = statusOf(challenge.toString('utf8'));
      return Buffer.from('\x01');
    },
  };
}

function statusOf(text: string): string {
  try {
    const { status } = JSON.parse(text) as { status?: unknown };
    if (typeof status === 'string') return status.replace(/[^\x20-\x7e]/g, '?').slice(0, 80);
  } catch {
    // Not JSON: the status cannot be told.
  }
  return 'an error without a status';
}
