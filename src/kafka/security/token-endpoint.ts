import type { IncomingMessage, RequestOptions } from 'node:http';
import type { OAuthToken } from '../../core/oauth-token.ts';
import { messageOf, SluiceError } from '../../errors.ts';
import type { TokenEndpoint, TokenLogin } from './settings.ts';
import { checkedToken, jwtExpiry } from './token.ts';

/** A token and what comes with it is a few kilobytes. */
const MAX_BODY_BYTES = 1024 * 1024;

export interface Fetched {
  readonly status: number;
  readonly body: string;
}

/** A failure of a token endpoint that may pass: `SluiceError.retryable` says so. */
export function tokenError(what: string, retryable: boolean, cause?: unknown): SluiceError {
  return new SluiceError('KAFKA_AUTH', `no token for OAUTHBEARER: ${what}`, {
    retryable,
    context: { mechanism: 'OAUTHBEARER' },
    cause,
  });
}

/**
 * A token for client credentials (RFC 6749, 4.4), or the one in a file where the URL is a `file:`. Throws KAFKA_AUTH,
 * retryable where the endpoint cannot be reached, is too slow or has a fault of its own. Redirects are not followed: the
 * secret goes to the address that was given.
 */
export async function fetchToken(login: TokenLogin, wallNow: () => number): Promise<OAuthToken> {
  const endpoint = login.endpoint!;
  if (endpoint.url.startsWith('file:')) return readTokenFile(endpoint);
  const shown = shownUrl(endpoint.url);
  const { status, body } = await post(login, endpoint, shown);
  if (status === 429 || status >= 500)
    throw tokenError(`${shown} answered with status ${status}${reasonIn(body, endpoint)}`, true);
  if (status !== 200) {
    const hint =
      status === 400 || status === 401 || status === 403
        ? '; check kafka.sasl.oauthbearer.client.credentials.client.id and client.secret (clientId and clientSecret of the JAAS text)'
        : '; check kafka.sasl.oauthbearer.token.endpoint.url';
    throw tokenError(`${shown} answered with status ${status}${reasonIn(body, endpoint)}${hint}`, false);
  }
  return tokenIn(body, shown, wallNow);
}

async function readTokenFile(endpoint: TokenEndpoint): Promise<OAuthToken> {
  const { readFile, stat } = await import('node:fs/promises');
  const url = new URL(endpoint.url);
  try {
    if ((await stat(url)).size > MAX_BODY_BYTES) throw new Error(`it is larger than ${MAX_BODY_BYTES} bytes`);
    const value = checkedToken((await readFile(url, 'utf8')).trim(), `the file ${url.pathname}`);
    return { value, expiresAtMs: jwtExpiry(value) };
  } catch (e) {
    if (e instanceof SluiceError) throw e;
    throw tokenError(
      `the file ${url.pathname} cannot be read (${(e as { code?: string }).code ?? messageOf(e)})`,
      true,
      e,
    );
  }
}

function tokenIn(body: string, shown: string, wallNow: () => number): OAuthToken {
  let answer: { access_token?: unknown; id_token?: unknown; expires_in?: unknown };
  try {
    answer = JSON.parse(body);
  } catch {
    throw tokenError(`${shown} did not answer with JSON; is this a token endpoint?`, false);
  }
  const found = answer?.access_token ?? answer?.id_token;
  if (typeof found !== 'string') throw tokenError(`the answer of ${shown} has no access_token`, false);
  const value = checkedToken(found, `the answer of ${shown}`);
  const seconds = Number(answer.expires_in);
  const times = [jwtExpiry(value), seconds > 0 ? wallNow() + seconds * 1000 : null].filter((t) => t !== null);
  return { value, expiresAtMs: times.length === 0 ? null : Math.min(...times) };
}

async function post(login: TokenLogin, endpoint: TokenEndpoint, shown: string): Promise<Fetched> {
  const url = new URL(endpoint.url);
  const [{ request }, trust] =
    url.protocol === 'https:'
      ? [await import('node:https'), await truststoreOf(endpoint)]
      : [await import('node:http'), undefined];
  const [id, secret, scope] = [endpoint.clientId!, endpoint.clientSecret!, endpoint.scope ?? ''].map(
    (text) => (endpoint.urlEncode ? encodeURIComponent(text) : text),
  );
  const form = `grant_type=client_credentials${scope === '' ? '' : `&scope=${endpoint.urlEncode ? scope : encodeURIComponent(scope)}`}`;
  const options: RequestOptions & { ca?: string[] } = {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
      'cache-control': 'no-cache',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(form),
    },
    agent: false,
    ca: trust,
  };
  return new Promise((resolve, reject) => {
    const fail = (what: string, cause?: unknown, retryable = true): void => {
      clearTimeout(connecting);
      clearTimeout(reading);
      outgoing.destroy();
      reject(tokenError(what, retryable, cause));
    };
    const outgoing = request(url, options, (response) => {
      clearTimeout(connecting);
      readBody(response).then(
        (body) => {
          clearTimeout(reading);
          resolve({ status: response.statusCode ?? 0, body });
        },
        (e) => fail(`the answer of ${shown} broke off (${messageOf(e)})`, e),
      );
    });
    const seconds = (ms: number): string => `${ms / 1000} s`;
    const connecting = setTimeout(
      () => fail(`no connection to ${shown} within ${seconds(login.connectTimeoutMs)}`),
      login.connectTimeoutMs,
    );
    const reading = setTimeout(
      () =>
        fail(
          `${shown} did not answer within ${seconds(login.readTimeoutMs)} (kafka.sasl.login.read.timeout.ms)`,
        ),
      login.readTimeoutMs,
    );
    outgoing.on('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    outgoing.on('error', (e: NodeJS.ErrnoException) => {
      const untrusted = /CERT|SIGNATURE|ALTNAME|SSL/.test(e.code ?? '');
      const hint = untrusted
        ? '; give its authority as ssl.truststore.location in the JAAS text, or as kafka.sasl.oauthbearer.ssl.truststore.location'
        : '';
      fail(`${shown} cannot be reached (${messageOf(e) || e.code})${hint}`, e, !untrusted);
    });
    outgoing.end(form);
  });
}

async function truststoreOf(endpoint: TokenEndpoint): Promise<string[] | undefined> {
  const { readTruststore } = await import('./tls-material.ts');
  return readTruststore(endpoint, 'sasl.oauthbearer.ssl.truststore');
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `error` and `error_description` of RFC 6749, 5.2, where the body has them; never anything else of it. */
function reasonIn(body: string, endpoint: TokenEndpoint): string {
  try {
    const { error, error_description: description } = JSON.parse(body) as Record<string, unknown>;
    const parts = [error, description].filter((part) => typeof part === 'string' && part !== '');
    if (parts.length === 0) return '';
    const text = parts
      .join(': ')
      .replace(/[^\x20-\x7e]/g, '?')
      .slice(0, 300);
    return ` (${text.replaceAll(endpoint.clientSecret!, '***')})`;
  } catch {
    return '';
  }
}

/** Without the query, which may hold keys. */
function shownUrl(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  return `the token endpoint ${protocol}//${host}${pathname}`;
}
