import net from 'node:net';
import tls, { type PeerCertificate } from 'node:tls';
import { SluiceError } from '../../errors.ts';
import { type BrokerAddress, formatAddress } from '../client-options.ts';
import { BrokerConnection, type ConnectionOptions } from '../connection.ts';
import { saslHandshake } from '../messages/sasl.ts';
import { plainTransport } from '../transport.ts';
import type { SecuritySettings } from './settings.ts';
import { isAddress, NOT_TLS } from './tls-transport.ts';

/** A probe must not make a person wait who waits for an error. */
const PROBE_TIMEOUT_MS = 3000;

/** When the other side closed a connection: see `BrokerConnection`. */
export type ClosedAt = 'securing' | 'agreeing' | 'loggingIn' | 'unused';

/**
 * Kafka closes a connection without a word where the client speaks another protocol than the listener. Asks the listener
 * what it speaks, by connections of its own that send no secret, and returns an error that says so; null where nothing
 * speaks against `kafka.security.protocol`, so that it may have been a fault that passes. What TLS finds wrong with the
 * broker's certificate comes back with what the certificate says of itself.
 */
export async function diagnose(
  error: SluiceError,
  options: ConnectionOptions,
  security: SecuritySettings | null,
): Promise<SluiceError | null> {
  const { address } = options;
  const closedAt = error.context.closedAt as ClosedAt | undefined;
  const probe: ConnectionOptions = {
    ...options,
    connectTimeoutMs: Math.min(options.connectTimeoutMs, PROBE_TIMEOUT_MS),
    requestTimeoutMs: Math.min(options.requestTimeoutMs, PROBE_TIMEOUT_MS),
    authenticate: undefined,
  };
  const usesTls = security !== null && security.tls !== null;
  const asked = security?.protocol ?? 'PLAINTEXT';
  const noTls = closedAt === 'securing' || error.context.tls === NOT_TLS;
  if (usesTls && noTls && (await speaksPlain(probe))) {
    const use = security.login === null ? 'PLAINTEXT' : 'SASL_PLAINTEXT';
    return mismatch(
      address,
      asked,
      'this listener speaks Kafka without TLS',
      `${use}, or use the port of a TLS listener`,
    );
  }
  if (error.code === 'KAFKA_TLS' && CERTIFICATE_FAULT.test(String(error.context.tls)))
    return withCertificate(error, address);
  if (closedAt === 'agreeing' && !usesTls && (await peerCertificate(address)) !== null)
    return listenerSpeaksTls(address, asked);
  if (closedAt === 'unused' && (security?.login ?? null) === null) {
    const mechanisms = await saslMechanisms(probe);
    if (mechanisms !== null) {
      const use = `${usesTls ? 'SASL_SSL' : 'SASL_PLAINTEXT'}, kafka.sasl.mechanism to one of ${mechanisms.join(', ')}, and the user`;
      return mismatch(
        address,
        asked,
        `this listener asks for a login by SASL (${mechanisms.join(', ')})`,
        use,
        'KAFKA_AUTH',
      );
    }
  }
  return null;
}

const CERTIFICATE_FAULT = /CERT|LEAF_SIGNATURE/;

/** A plain client that hears TLS: `frame-assembler.ts` knows it by its first bytes, `diagnose` by asking. */
function listenerSpeaksTls(address: BrokerAddress, asked: string): SluiceError {
  const use = asked === 'PLAINTEXT' ? 'SSL (or SASL_SSL where it asks for a login)' : 'SASL_SSL';
  return mismatch(address, asked, 'this listener speaks TLS', use);
}

async function withCertificate(error: SluiceError, address: BrokerAddress): Promise<SluiceError> {
  const certificate = await peerCertificate(address);
  const text = certificate === null ? '' : describeCertificate(certificate);
  if (text === '') return error;
  return new SluiceError(
    error.code,
    `${error.message.slice(error.code.length + 2)}. The certificate: ${text}`,
    {
      retryable: error.retryable,
      context: error.context,
      cause: error.cause,
    },
  );
}

function mismatch(
  address: BrokerAddress,
  asked: string,
  found: string,
  use: string,
  code: 'KAFKA_TLS' | 'KAFKA_AUTH' = 'KAFKA_TLS',
): SluiceError {
  const broker = formatAddress(address);
  return new SluiceError(
    code,
    `broker ${broker}: ${found}, but kafka.security.protocol is ${asked}; set it to ${use}`,
    { context: { broker, protocol: asked } },
  );
}

async function speaksPlain(probe: ConnectionOptions): Promise<boolean> {
  try {
    (await BrokerConnection.open({ ...probe, transport: plainTransport })).close();
    return true;
  } catch {
    return false;
  }
}

/** The mechanisms of a listener that asks for a login; null where it does not. */
async function saslMechanisms(probe: ConnectionOptions): Promise<string[] | null> {
  let connection: BrokerConnection | null = null;
  try {
    connection = await BrokerConnection.open(probe);
    const { mechanisms } = await connection.call(saslHandshake, { mechanism: 'NONE' });
    return mechanisms.length === 0
      ? null
      : mechanisms.map((name) => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 40));
  } catch {
    return null;
  } finally {
    connection?.close();
  }
}

/** The certificate that a TLS listener shows to everybody; null where there is no TLS. */
function peerCertificate(address: BrokerAddress): Promise<PeerCertificate | null> {
  return new Promise((resolve) => {
    const raw = net.connect({ host: address.host, port: address.port });
    const socket = tls.connect({
      socket: raw,
      servername: isAddress(address.host) ? undefined : address.host,
      // Only to look: nothing is sent over it.
      rejectUnauthorized: false,
    });
    const done = (certificate: PeerCertificate | null): void => {
      clearTimeout(timer);
      socket.destroy();
      raw.destroy();
      resolve(certificate);
    };
    const timer = setTimeout(() => done(null), PROBE_TIMEOUT_MS);
    socket.once('secureConnect', () => done(socket.getPeerCertificate()));
    for (const one of [raw, socket]) {
      // An alert is TLS too: the listener may want our certificate before it goes on.
      one.on('error', (e: NodeJS.ErrnoException) =>
        done(/ALERT/.test(e.code ?? '') ? ({} as PeerCertificate) : null),
      );
      one.once('close', () => done(null));
    }
  });
}

/** What the certificate says of itself, for messages about expiry, names and authorities. */
function describeCertificate(certificate: PeerCertificate): string {
  const shown = (text: unknown): string =>
    String(text ?? '')
      .replace(/[^\x20-\x7e]/g, '?')
      .slice(0, 200);
  const parts: string[] = [];
  if (certificate.subject?.CN !== undefined) parts.push(`subject CN=${shown(certificate.subject.CN)}`);
  if (certificate.subjectaltname !== undefined) parts.push(`names ${shown(certificate.subjectaltname)}`);
  if (certificate.issuer?.CN !== undefined) parts.push(`issuer CN=${shown(certificate.issuer.CN)}`);
  if (certificate.valid_from !== undefined)
    parts.push(`valid from ${shown(certificate.valid_from)} to ${shown(certificate.valid_to)}`);
  return parts.join(', ');
}
