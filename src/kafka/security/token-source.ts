import { setTimeout as delay } from 'node:timers/promises';
import type { OAuthToken, TokenInput } from '../../core/oauth-token.ts';
import { messageOf, SluiceError } from '../../errors.ts';
import type { KafkaLogLine } from '../client-options.ts';
import type { TokenLogin } from './settings.ts';
import { checkedToken, jwtExpiry } from './token.ts';
import { fetchToken, tokenError } from './token-endpoint.ts';

/** A new token is fetched when this part of the life of the old one is over, as Kafka's client has it. */
const REFRESH_AFTER = 0.8;
/** So often an endpoint that does not answer, or has a fault of its own, is asked... */
const TRIES = 3;
/** ...with this wait before the next try, doubled each time. */
const FIRST_WAIT_MS = 200;
/** Between two tries to renew a token that still holds. */
const RENEWAL_PAUSE_MS = 5000;
/** So long a login waits for the new token while the old one still holds. */
const RENEWAL_WAIT_MS = 1000;

export interface TokenSourceOptions {
  readonly login: TokenLogin;
  /** The function of the pipeline; it comes before the other ways. */
  readonly own?: TokenInput;
  readonly log?: (line: KafkaLogLine) => void;
  /** Milliseconds since 1970. */
  readonly wallNow?: () => number;
}

/**
 * The tokens of one process: fetched when first needed, renewed before they expire, shared by all connections. While the old one holds, a failure to renew it is only a warning; without any, `get` throws KAFKA_AUTH,
 * not retryable, after seconds.
 */
export class TokenSource {
  private readonly options: TokenSourceOptions;
  private readonly wallNow: () => number;
  private token: OAuthToken | null = null;
  private refreshAtMs = 0;
  private fetching: Promise<OAuthToken> | null = null;

  constructor(options: TokenSourceOptions) {
    this.options = options;
    this.wallNow = options.wallNow ?? Date.now;
  }

  async get(refused?: string): Promise<OAuthToken> {
    if (this.token !== null && this.token.value === refused) this.token = null;
    const { token } = this;
    const now = this.wallNow();
    if (token === null || (token.expiresAtMs !== null && token.expiresAtMs <= now)) return this.fetch();
    if (now >= this.refreshAtMs) {
      this.refreshAtMs = now + RENEWAL_PAUSE_MS;
      return this.renew(token);
    }
    return token;
  }

  /** The new token, or the old one where the new one does not come soon: it holds still. */
  private async renew(old: OAuthToken): Promise<OAuthToken> {
    const timer = new AbortController();
    const fetching = this.fetch().catch((error: unknown) => {
      this.options.log?.({
        level: 'warn',
        msg: 'the token of OAUTHBEARER could not be renewed; the old one holds still',
        error: messageOf(error),
      });
      return old;
    });
    const soon = delay(RENEWAL_WAIT_MS, old, { signal: timer.signal }).catch(() => old);
    const token = await Promise.race([fetching, soon]);
    timer.abort();
    return token;
  }

  private fetch(): Promise<OAuthToken> {
    this.fetching ??= this.fetchWithRetries().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  private async fetchWithRetries(): Promise<OAuthToken> {
    const start = this.wallNow();
    for (let tries = 1; ; tries++) {
      try {
        const token = await this.fetchOnce();
        this.accept(token);
        return token;
      } catch (e) {
        const retryable = e instanceof SluiceError && e.retryable;
        // A time-out is not repeated: whoever waits for the token has waited long enough.
        const spent = this.wallNow() - start;
        if (!retryable || tries >= TRIES || spent > this.options.login.readTimeoutMs / 2) throw final(e);
        await delay(FIRST_WAIT_MS * 2 ** (tries - 1));
      }
    }
  }

  private async fetchOnce(): Promise<OAuthToken> {
    const { login, own } = this.options;
    if (own !== undefined) return callOwn(own, login.readTimeoutMs);
    if (login.endpoint !== null) return fetchToken(login, this.wallNow);
    if (login.token === null) {
      throw new SluiceError(
        'CONFIG_INVALID',
        'option kafka.sasl.oauthbearer.token: OAUTHBEARER needs a token, a function that gives one, or a token endpoint',
      );
    }
    const value = checkedToken(login.token, 'kafka.sasl.oauthbearer.token');
    return { value, expiresAtMs: jwtExpiry(value) };
  }

  private accept(token: OAuthToken): void {
    const now = this.wallNow();
    const { expiresAtMs } = token;
    if (expiresAtMs !== null && expiresAtMs <= now) {
      const time = new Date(expiresAtMs).toISOString();
      throw tokenError(
        `the token has expired already, at ${time}; is the clock of this machine right?`,
        false,
      );
    }
    this.token = token;
    // A token that does not say how long it holds is asked for at each login: its giver knows whether to keep it.
    this.refreshAtMs = expiresAtMs === null ? now : now + (expiresAtMs - now) * REFRESH_AFTER;
    if (expiresAtMs === null) this.token = null;
  }
}

async function callOwn(own: TokenInput, timeoutMs: number): Promise<OAuthToken> {
  const where = 'the function in kafka.sasl.oauthbearer.token';
  const timer = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: timer.signal }).then(
    () => {
      throw tokenError(
        `${where} did not answer within ${timeoutMs / 1000} s (kafka.sasl.login.read.timeout.ms)`,
        false,
      );
    },
    () => '',
  );
  let given: Awaited<ReturnType<TokenInput>>;
  try {
    given = await Promise.race([(async () => own())(), late]);
  } catch (e) {
    if (e instanceof SluiceError) throw e;
    // What it threw may hold a token that it had in hand.
    const text = messageOf(e).replace(/[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g, '***');
    throw tokenError(`${where} failed: ${text.slice(0, 300)}`, false);
  } finally {
    timer.abort();
  }
  const found = typeof given === 'string' ? { value: given } : given;
  if (typeof found?.value !== 'string') throw tokenError(`${where} gave no token`, false);
  const value = checkedToken(found.value, where);
  const expiresAtMs = typeof found.expiresAtMs === 'number' ? found.expiresAtMs : jwtExpiry(value);
  return { value, expiresAtMs };
}

/** What a connection is told: trying to connect again would only try the token again. */
function final(e: unknown): unknown {
  if (!(e instanceof SluiceError) || !e.retryable) return e;
  return new SluiceError(e.code, e.message.slice(e.code.length + 2), {
    retryable: false,
    context: e.context,
    cause: e.cause,
  });
}
