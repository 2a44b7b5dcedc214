import { SluiceError } from '../../errors.ts';

const MAX_TOKEN_LENGTH = 256 * 1024;

/** The token itself, if it has the form of one (RFC 6750, 2.1): anything else would end up inside of the SASL message. */
export function checkedToken(value: string, where: string): string {
  if (value.length <= MAX_TOKEN_LENGTH && /^[A-Za-z0-9\-._~+/]+=*$/.test(value)) return value;
  const what = value === '' ? 'is empty' : 'has characters that a bearer token cannot have';
  throw new SluiceError('KAFKA_AUTH', `no token for OAUTHBEARER: the token from ${where} ${what}`, {
    context: { mechanism: 'OAUTHBEARER' },
  });
}

/** The claim `exp` of a JWT in milliseconds since 1970; null for what is no JWT, or has none. Nothing is verified: the broker does that. */
export function jwtExpiry(token: string): number | null {
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  try {
    const { exp } = JSON.parse(Buffer.from(parts[1], 'base64url').toString('utf8')) as { exp?: unknown };
    return typeof exp === 'number' && Number.isFinite(exp) && exp > 0 ? exp * 1000 : null;
  } catch {
    return null;
  }
}
