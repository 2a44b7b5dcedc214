import type { OAuthToken, TokenFunction } from '../../core/oauth-token.ts';
import { SluiceError } from '../../errors.ts';
import { BROKER_ERROR } from '../broker-errors.ts';
import { kafkaErrorOf } from '../errors.ts';
import { plainTransport, type Transport } from '../transport.ts';
import { plainExchange } from './exchange.ts';
import { oauthBearerExchange } from './oauth-bearer.ts';
import { logIn, type SaslChannel } from './sasl.ts';
import { saslprep } from './saslprep.ts';
import { scramExchange } from './scram.ts';
import type { Login, PasswordLogin, SecuritySettings, TokenLogin } from './settings.ts';
import { TlsMaterial } from './tls-material.ts';
import { tlsTransport } from './tls-transport.ts';

/** One way to log a connection in. */
export interface LoginAttempt {
  /** Logs a connection in, or in again. Resolves to how long it holds, in ms; 0 for as long as the connection does. */
  authenticate(channel: SaslChannel): Promise<number>;
  /** After a refusal: another way that may do; null where there is none. */
  another(error: unknown): LoginAttempt | null;
}

/** How the connections of one client are secured and logged in. Loaded only where `security.protocol` asks for it. */
export class BrokerSecurity {
  readonly settings: SecuritySettings;
  /** Who the broker will take us for, as far as it can be told from here. */
  readonly principal: string;
  private readonly tls: TlsMaterial | null;
  private readonly token: TokenFunction;
  /** SCRAM: the broker knows the password after SASLprep, not as it is. */
  private usePrepared = false;

  constructor(settings: SecuritySettings, token: TokenFunction) {
    this.settings = settings;
    this.token = token;
    this.tls = settings.tls === null ? null : new TlsMaterial(settings.tls);
    this.principal = principalOf(settings.login, this.tls?.hasOwnCertificate ?? false);
  }

  async transport(): Promise<Transport> {
    return this.tls === null ? plainTransport : tlsTransport(this.tls);
  }

  /** Null where the protocol knows no login. */
  login(): LoginAttempt | null {
    const { login } = this.settings;
    if (login === null) return null;
    if (login.mechanism === 'OAUTHBEARER') return this.byToken(login, undefined);
    return this.byPassword(login, this.usePrepared);
  }

  /**
   * Kafka's own tools store a password as it is; others after SASLprep, as RFC 5802 demands. Where both differ and the
   * one is refused, the other is tried.
   */
  private byPassword(login: PasswordLogin, prepare: boolean): LoginAttempt {
    const { mechanism, username } = login;
    return {
      authenticate: async (channel) => {
        const password = prepare ? saslprep(login.password)! : login.password;
        const exchange =
          mechanism === 'PLAIN'
            ? plainExchange(username, password)
            : scramExchange({ mechanism, username, password });
        const lifetimeMs = await logIn(channel, mechanism, `user "${username}"`, exchange);
        this.usePrepared = prepare;
        return lifetimeMs;
      },
      another: (error) => {
        if (mechanism === 'PLAIN' || prepare || !isRefusal(error)) return null;
        const prepared = saslprep(login.password);
        return prepared === null || prepared === login.password ? null : this.byPassword(login, true);
      },
    };
  }

  /** A token that was kept may have been revoked since: after a refusal another one is asked for, once. */
  private byToken(login: TokenLogin, refused: string | undefined): LoginAttempt {
    let used: OAuthToken | null = null;
    return {
      authenticate: async (channel) => {
        used = await this.tokenFor(channel.address, refused);
        if (used.value === refused) throw noOtherToken(channel.address);
        return logInByToken(channel, used, login);
      },
      another: (error) =>
        refused !== undefined || used === null || !isRefusal(error) ? null : this.byToken(login, used.value),
    };
  }

  private async tokenFor(broker: string, refused: string | undefined): Promise<OAuthToken> {
    try {
      return await this.token(refused);
    } catch (e) {
      throw atBroker(e, broker);
    }
  }
}

function principalOf(login: Login | null, ownCertificate: boolean): string {
  if (login === null) return ownCertificate ? 'the owner of the client certificate' : 'User:ANONYMOUS';
  return login.mechanism === 'OAUTHBEARER' ? 'the owner of the token' : `User:${login.username}`;
}

const isRefusal = (error: unknown): boolean =>
  kafkaErrorOf(error) === BROKER_ERROR.SASL_AUTHENTICATION_FAILED;

async function logInByToken(channel: SaslChannel, token: OAuthToken, login: TokenLogin): Promise<number> {
  const exchange = oauthBearerExchange(token.value, login.extensions);
  try {
    return await logIn(channel, 'OAUTHBEARER', 'the token', exchange);
  } catch (e) {
    if (exchange.refusal === null || !(e instanceof SluiceError)) throw e;
    throw new SluiceError(
      e.code,
      `${e.message.slice(e.code.length + 2)}; it calls the token ${exchange.refusal}`,
      {
        retryable: e.retryable,
        context: { ...e.context, refusal: exchange.refusal },
        cause: e,
      },
    );
  }
}

function noOtherToken(broker: string): SluiceError {
  return new SluiceError(
    'KAFKA_AUTH',
    `broker ${broker} refused the token by OAUTHBEARER, and there is no other; is it made for this cluster (issuer, ` +
      'audience, expiry, claim sub)? Check kafka.sasl.oauthbearer.*',
    { context: { broker, mechanism: 'OAUTHBEARER', kafkaError: BROKER_ERROR.SASL_AUTHENTICATION_FAILED } },
  );
}

/** An error of the token's giver, with the broker for which the token was wanted. */
function atBroker(error: unknown, broker: string): unknown {
  if (!(error instanceof SluiceError)) return error;
  return new SluiceError(error.code, `broker ${broker}: ${error.message.slice(error.code.length + 2)}`, {
    retryable: error.retryable,
    context: { ...error.context, broker },
    cause: error,
  });
}
