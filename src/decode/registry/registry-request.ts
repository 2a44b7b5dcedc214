import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf } from '../../errors.ts';
import type { RegistryAddress } from './registry-options.ts';
import type { RegistryConnections } from './registry-tls.ts';

/** What came back: the status and the whole body. */
export interface RegistryResponse {
  readonly status: number;
  readonly contentType: string;
  /** Where a redirect leads, or null. It is never followed: credentials go to the addresses that were given. */
  readonly location: string | null;
  /** Milliseconds of `Retry-After`, or null. */
  readonly retryAfterMs: number | null;
  readonly body: string;
}

/** A request that got no whole answer. `untrusted`: the other side could not prove who it is, or did not trust us. */
export class RequestFailure extends Error {
  readonly kind: 'transport' | 'untrusted' | 'too-large';

  constructor(kind: 'transport' | 'untrusted' | 'too-large', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export interface RequestLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const ACCEPT =
  'application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5';

/**
 * One GET: the whole answer within `timeoutMs`, or a `RequestFailure`. An abort rejects with the signal's reason.
 * `path` begins with a slash and is percent-encoded.
 */
export async function get(
  connections: RegistryConnections,
  address: RegistryAddress,
  path: string,
  limits: RequestLimits,
): Promise<RegistryResponse> {
  const { protocol, hostname, port, pathname } = address.base;
  const agent = await connections.agent(protocol);
  limits.signal.throwIfAborted();
  const headers: Record<string, string> = { accept: ACCEPT, 'accept-encoding': 'identity' };
  if (address.authorization !== null) headers.authorization = address.authorization;
  return new Promise((resolve, reject) => {
    let ended = false;
    const end = (settle: () => void, outgoing: ClientRequest): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      limits.signal.removeEventListener('abort', onAbort);
      settle();
      outgoing.destroy();
    };
    const fail = (error: unknown): void => end(() => reject(error), outgoing);
    const outgoing = (protocol === 'https:' ? httpsRequest : httpRequest)(
      {
        agent,
        protocol,
        // Node wants IPv6 addresses without their brackets.
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port: port === '' ? undefined : port,
        path: `${pathname === '/' ? '' : pathname}${path}`,
        method: 'GET',
        headers,
      },
      (response) => {
        readBody(response, limits.maxBytes).then((body) => {
          const answer = answerOf(response, body);
          // A whole body has been read: the connection goes back to the agent by itself.
          if (ended) return;
          ended = true;
          clearTimeout(timer);
          limits.signal.removeEventListener('abort', onAbort);
          resolve(answer);
        }, fail);
      },
    );
    const timer = setTimeout(
      () => fail(new RequestFailure('transport', `no whole answer within ${limits.timeoutMs} ms`)),
      limits.timeoutMs,
    );
    const onAbort = (): void => fail(limits.signal.reason);
    limits.signal.addEventListener('abort', onAbort, { once: true });
    outgoing.on('error', (e) => fail(failureOf(e)));
    outgoing.end();
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new RequestFailure('too-large', `an answer of more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (e) {
    if (e instanceof RequestFailure) throw e;
    throw new RequestFailure('transport', `the answer broke off after ${size} bytes (${messageOf(e)})`, e);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

function answerOf(response: IncomingMessage, body: string): RegistryResponse {
  const seconds = Number(response.headers['retry-after'] ?? Number.NaN);
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    location: response.headers.location ?? null,
    retryAfterMs: seconds >= 0 ? seconds * 1000 : null,
    body,
  };
}

/** Codes of Node and OpenSSL that say that one side does not trust the other, or that it is no TLS at all. */
const UNTRUSTED =
  /^(UNABLE_TO_|CERT_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|EPROTO)/;

function failureOf(e: NodeJS.ErrnoException): RequestFailure {
  const code = e.code ?? '';
  const text = messageOf(e) || code;
  if (UNTRUSTED.test(code))
    return new RequestFailure('untrusted', `the connection could not be secured (${text})`, e);
  // Several addresses of one name that all refused: Node says nothing but the code.
  return new RequestFailure('transport', text === '' ? 'it cannot be reached' : text, e);
}
