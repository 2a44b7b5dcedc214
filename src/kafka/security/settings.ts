import { SluiceError } from '../../errors.ts';

export const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;

export type Mechanism = (typeof MECHANISMS)[number];

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

/** The `ssl.*` options; files are read when a connection is opened, so that new certificates count from then on. */
export interface TlsSettings {
  readonly truststoreLocation: string | null;
  readonly truststoreCertificates: string | null;
  readonly truststoreType: string | null;
  readonly keystoreLocation: string | null;
  readonly keystoreType: string | null;
  readonly keystorePassword: string | null;
  readonly certificateChain: string | null;
  readonly key: string | null;
  readonly keyPassword: string | null;
  /** False where `ssl.endpoint.identification.algorithm` is empty. */
  readonly checkHostName: boolean;
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
}

export interface PasswordLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: string;
  readonly password: string;
}

/** Where client credentials are turned into tokens. */
export interface TokenEndpoint {
  /** http, https, or file: then the file holds the token. */
  readonly url: string;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly scope: string | null;
  /** Encode id and secret as forms are before they are put into the header (RFC 6749, 2.3.1); Kafka's default is not to. */
  readonly urlEncode: boolean;
  readonly truststoreLocation: string | null;
  readonly truststoreCertificates: string | null;
}

export interface TokenLogin {
  readonly mechanism: 'OAUTHBEARER';
  /** A token that never changes. */
  readonly token: string | null;
  readonly endpoint: TokenEndpoint | null;
  readonly extensions: readonly (readonly [string, string])[];
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
}

export type Login = PasswordLogin | TokenLogin;

/** How a connection is secured. Null parts are not used. */
export interface SecuritySettings {
  readonly protocol: 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL';
  readonly tls: TlsSettings | null;
  readonly login: Login | null;
}

/** Options that say how Java does what happens here without them. */
const WITHOUT_EFFECT = /^sasl\.login\.(refresh\.|retry\.backoff\.|callback\.handler\.class$)/;

/**
 * Reads `security.protocol`, `sasl.*` and `ssl.*` (names without `kafka.`). Null for PLAINTEXT. Nothing of them is passed
 * over: what is not known is UNSUPPORTED, what is missing or contradicts is CONFIG_INVALID, for a run that went on in
 * plain text would be worse than none.
 */
export function readSecuritySettings(options: ReadonlyMap<string, string>): SecuritySettings | null {
  if (options.size === 0) return null;
  const reader = new OptionReader(options);
  const protocol = (reader.take('security.protocol') ?? '').toUpperCase();
  if (protocol === '') {
    const names = [...options.keys()].map((key) => `kafka.${key}`).join(', ');
    throw invalid(
      'security.protocol',
      `${names} is given, but not the protocol; say SSL, SASL_SSL or SASL_PLAINTEXT`,
    );
  }
  if (!['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'].includes(protocol)) {
    throw invalid('security.protocol', `PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL expected`);
  }
  const tls = readTls(reader);
  const login = protocol.startsWith('SASL_') ? readLogin(reader) : null;
  reader.refuseRest(protocol);
  if (protocol === 'PLAINTEXT') return null;
  return {
    protocol: protocol as SecuritySettings['protocol'],
    tls: protocol.endsWith('SSL') ? tls : null,
    login,
  };
}

function readTls(reader: OptionReader): TlsSettings {
  const algorithm = reader.take('ssl.endpoint.identification.algorithm', true) ?? 'https';
  if (algorithm !== '' && algorithm.toLowerCase() !== 'https')
    throw invalid('ssl.endpoint.identification.algorithm', 'https or the empty text expected');
  const [minVersion, maxVersion] = readVersions(reader);
  return {
    truststoreLocation: reader.take('ssl.truststore.location'),
    truststoreCertificates: reader.take('ssl.truststore.certificates'),
    truststoreType: reader.take('ssl.truststore.type'),
    keystoreLocation: reader.take('ssl.keystore.location'),
    keystoreType: reader.take('ssl.keystore.type'),
    keystorePassword: reader.take('ssl.keystore.password'),
    certificateChain: reader.take('ssl.keystore.certificate.chain'),
    key: reader.take('ssl.keystore.key'),
    keyPassword: reader.take('ssl.key.password'),
    checkHostName: algorithm !== '',
    minVersion,
    maxVersion,
  };
}

/** `ssl.enabled.protocols`, a list of TLSv1.2 and TLSv1.3; both where it is left out. */
function readVersions(reader: OptionReader): [TlsVersion, TlsVersion] {
  const text = reader.take('ssl.enabled.protocols');
  if (text === null) return ['TLSv1.2', 'TLSv1.3'];
  const names = text.split(',').map((name) => name.trim());
  if (!names.every((name) => name === 'TLSv1.2' || name === 'TLSv1.3'))
    throw invalid('ssl.enabled.protocols', 'TLSv1.2, TLSv1.3 or both expected');
  return [
    names.includes('TLSv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    names.includes('TLSv1.3') ? 'TLSv1.3' : 'TLSv1.2',
  ];
}

function readLogin(reader: OptionReader): Login {
  const mechanism = reader.take('sasl.mechanism');
  if (mechanism === null) throw invalid('sasl.mechanism', `one of ${MECHANISMS.join(', ')} is needed`);
  if (!(MECHANISMS as readonly string[]).includes(mechanism)) {
    throw new SluiceError(
      'UNSUPPORTED',
      `option kafka.sasl.mechanism: this version of Sluice logs in by ${MECHANISMS.join(', ')} only`,
      { context: { option: 'kafka.sasl.mechanism' } },
    );
  }
  if (mechanism === 'OAUTHBEARER') return readTokenLogin(reader);
  const [username, password] = ['sasl.username', 'sasl.password'].map((key) => {
    const value = reader.take(key);
    if (value === null) throw invalid(key, `${mechanism} needs a user and a password`);
    if (value.includes('\0')) throw invalid(key, 'it holds a character NUL, which SASL does not allow');
    return value;
  });
  return { mechanism: mechanism as PasswordLogin['mechanism'], username, password };
}

function readTokenLogin(reader: OptionReader): TokenLogin {
  const url = reader.take('sasl.oauthbearer.token.endpoint.url');
  const clientId = reader.take('sasl.oauthbearer.client.credentials.client.id');
  const clientSecret = reader.take('sasl.oauthbearer.client.credentials.client.secret');
  const endpoint: TokenEndpoint | null =
    url === null
      ? null
      : {
          url: checkedUrl(url),
          clientId,
          clientSecret,
          scope: reader.take('sasl.oauthbearer.scope'),
          urlEncode: reader.take('sasl.oauthbearer.header.urlencode') === 'true',
          truststoreLocation: reader.take('sasl.oauthbearer.ssl.truststore.location'),
          truststoreCertificates: reader.take('sasl.oauthbearer.ssl.truststore.certificates'),
        };
  if (
    endpoint !== null &&
    !endpoint.url.startsWith('file:') &&
    (clientId === null || clientSecret === null)
  ) {
    const missing = clientId === null ? 'client.id' : 'client.secret';
    throw invalid(`sasl.oauthbearer.client.credentials.${missing}`, 'the token endpoint asks for it');
  }
  return {
    mechanism: 'OAUTHBEARER',
    token: reader.take('sasl.oauthbearer.token'),
    endpoint,
    extensions: readExtensions(reader.take('sasl.oauthbearer.extensions')),
    connectTimeoutMs: reader.milliseconds('sasl.login.connect.timeout.ms', 10_000),
    readTimeoutMs: reader.milliseconds('sasl.login.read.timeout.ms', 10_000),
  };
}

function checkedUrl(text: string): string {
  const key = 'sasl.oauthbearer.token.endpoint.url';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:', 'file:'].includes(url.protocol))
    throw invalid(key, 'a URL that begins with https://, http:// or file:// is expected');
  if (url.username !== '' || url.password !== '')
    throw invalid(key, 'a password in the URL is not used; give the client id and secret as options');
  return url.href;
}

/** `logicalCluster=lkc-1,identityPoolId=pool-2`; the form of names and values is that of RFC 7628, 3.1. */
function readExtensions(text: string | null): [string, string][] {
  const extensions: [string, string][] = [];
  for (const part of (text ?? '').split(',')) {
    if (part.trim() === '') continue;
    const match = /^\s*([A-Za-z]+)\s*=([\x21-\x7e \t]+)$/.exec(part);
    if (match === null || match[1] === 'auth')
      throw invalid('sasl.oauthbearer.extensions', 'name=value, several with commas between, is expected');
    extensions.push([match[1], match[2].trim()]);
  }
  return extensions;
}

/** Hands out options and remembers which nobody took. */
class OptionReader {
  private readonly options: ReadonlyMap<string, string>;
  private readonly taken = new Set<string>();

  constructor(options: ReadonlyMap<string, string>) {
    this.options = options;
  }

  /** Null where it is not given; the empty text counts as not given, unless it means something. */
  take(key: string, emptyToo = false): string | null {
    this.taken.add(key);
    const value = this.options.get(key);
    return value === undefined || (value === '' && !emptyToo) ? null : value;
  }

  milliseconds(key: string, otherwise: number): number {
    const text = this.take(key);
    if (text === null) return otherwise;
    const ms = Number(text);
    if (Number.isInteger(ms) && ms > 0 && ms <= 3_600_000) return ms;
    throw invalid(key, 'a whole number of milliseconds from 1 to 3600000 expected');
  }

  refuseRest(protocol: string): void {
    for (const key of this.options.keys()) {
      if (this.taken.has(key) || WITHOUT_EFFECT.test(key)) continue;
      if (key.startsWith('sasl.') && !protocol.startsWith('SASL_')) {
        throw invalid(key, `security.protocol ${protocol} does not log in; use SASL_SSL or SASL_PLAINTEXT`);
      }
      throw new SluiceError(
        'UNSUPPORTED',
        `option kafka.${key}: this version of Sluice has no such way to secure a connection; leave it out`,
        { context: { option: `kafka.${key}` } },
      );
    }
  }
}

/** A fault of an option. Values are never shown: many of them are secrets. */
export function invalid(key: string, message: string, cause?: unknown): SluiceError {
  return new SluiceError('CONFIG_INVALID', `option kafka.${key}: ${message}`, {
    context: { option: `kafka.${key}` },
    cause,
  });
}
