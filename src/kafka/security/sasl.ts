import { SluiceError } from '../../errors.ts';
import { BROKER_ERROR } from '../broker-errors.ts';
import { brokerError } from '../errors.ts';
import type { Api } from '../messages/api.ts';
import { saslAuthenticate, saslHandshake } from '../messages/sasl.ts';
import type { SaslExchange } from './exchange.ts';

/** What a login needs of a connection. */
export interface SaslChannel {
  readonly address: string;
  call<Request, Response>(api: Api<Request, Response>, request: Request): Promise<Response>;
}

/** Longer than any mechanism takes; a broker that goes on is not one. */
const MAX_ROUNDS = 8;

/**
 * Logs a connection in, or in again (KIP-43, KIP-152, KIP-368). Returns for how many milliseconds the login holds, 0 for as
 * long as the connection does. `who` is named in errors: `user "alice"`.
 * Throws KAFKA_AUTH where the broker refuses, or fails to prove itself.
 */
export async function logIn(
  channel: SaslChannel,
  mechanism: string,
  who: string,
  exchange: SaslExchange,
): Promise<number> {
  await agreeOnMechanism(channel, mechanism);
  let bytes: Uint8Array | null = await exchange.first();
  let lifetimeMs = 0;
  for (let round = 0; bytes !== null; round++) {
    if (round === MAX_ROUNDS) {
      throw new SluiceError(
        'PROTOCOL_ERROR',
        `broker ${channel.address}: ${mechanism} did not end after ${round} messages`,
      );
    }
    const answer = await channel.call(saslAuthenticate, { bytes });
    if (answer.errorCode !== 0) throw refused(channel, mechanism, who, answer.errorCode, answer.errorMessage);
    lifetimeMs = answer.sessionLifetimeMs;
    try {
      bytes = await exchange.next(answer.bytes);
    } catch (e) {
      if (!(e instanceof SluiceError)) throw e;
      const text = `broker ${channel.address}: ${e.message.slice(e.code.length + 2)}`;
      throw new SluiceError(e.code, text, { context: { broker: channel.address, mechanism }, cause: e });
    }
  }
  return Math.max(0, lifetimeMs);
}

async function agreeOnMechanism(channel: SaslChannel, mechanism: string): Promise<void> {
  const { errorCode, mechanisms } = await channel.call(saslHandshake, { mechanism });
  if (errorCode === 0) return;
  const context = { broker: channel.address, mechanism, kafkaError: errorCode, enabled: mechanisms };
  if (errorCode === BROKER_ERROR.UNSUPPORTED_SASL_MECHANISM) {
    const enabled = mechanisms.map(printable).join(', ') || 'none';
    throw new SluiceError(
      'KAFKA_AUTH',
      `broker ${channel.address}: mechanism ${mechanism} is not enabled on this listener, which offers ${enabled}; ` +
        'set kafka.sasl.mechanism to one of them, or enable it in sasl.enabled.mechanisms of the broker',
      { context },
    );
  }
  if (errorCode === BROKER_ERROR.ILLEGAL_SASL_STATE) {
    throw new SluiceError(
      'KAFKA_AUTH',
      `broker ${channel.address}: this listener does not log in by SASL, but ${mechanism} was asked for; ` +
        'use another port, or kafka.security.protocol SSL or PLAINTEXT',
      { context },
    );
  }
  throw brokerError(errorCode, `logging in by ${mechanism}`, channel.address, context);
}

function refused(
  channel: SaslChannel,
  mechanism: string,
  who: string,
  errorCode: number,
  errorMessage: string | null,
): SluiceError {
  if (errorCode !== BROKER_ERROR.SASL_AUTHENTICATION_FAILED)
    return brokerError(errorCode, `logging ${who} in by ${mechanism}`, channel.address, { mechanism });
  const reason = errorMessage === null || errorMessage === '' ? '' : ` ("${printable(errorMessage)}")`;
  const options =
    mechanism === 'OAUTHBEARER' ? 'the token and what the broker expects of it' : 'the user and the password';
  return new SluiceError(
    'KAFKA_AUTH',
    `broker ${channel.address} refused ${who} by ${mechanism}${reason}; check ${options} (kafka.sasl.*), ` +
      'and that the broker knows them under this mechanism',
    { context: { broker: channel.address, mechanism, kafkaError: errorCode } },
  );
}

/** What a broker says, in a message: short, and without characters that a terminal obeys. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 300);
}
