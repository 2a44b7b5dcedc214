import { formatDuration } from '../../core/duration.ts';
import { ERROR_CODES, type ErrorCode, isSluiceError, messageOf, SluiceError } from '../../errors.ts';

/** One thing that a pipeline needs outside of itself, and how it was found. */
export type ConnectCheck =
  | { what: string; result: 'ok'; found: string }
  | { what: string; result: 'failed'; code: ErrorCode; message: string; remedy: string }
  /** It could not be tried because of another one. */
  | { what: string; result: 'skipped'; because: string };

/** Results in the order in which they are shown, and the error behind each that failed. */
export class CheckResults {
  readonly checks: ConnectCheck[] = [];
  readonly errors: SluiceError[] = [];

  ok(what: string, found: string): void {
    this.checks.push({ what, result: 'ok', found });
  }

  failed(what: string, thrown: unknown): void {
    const error = isSluiceError(thrown)
      ? thrown
      : new SluiceError('INTERNAL', messageOf(thrown), { cause: thrown });
    const { code } = error;
    const message = error.message.slice(code.length + 2);
    this.checks.push({ what, result: 'failed', code, message, remedy: ERROR_CODES[code].remedy });
    this.errors.push(error);
  }

  skipped(what: string, because: string): void {
    this.checks.push({ what, result: 'skipped', because });
  }

  /** Runs one check; undefined where it failed. */
  async try<T>(what: string, work: () => Promise<T>, found: (value: T) => string): Promise<T | undefined> {
    try {
      const value = await work();
      this.ok(what, found(value));
      return value;
    } catch (error) {
      this.failed(what, error);
      return undefined;
    }
  }

  add(other: CheckResults): void {
    this.checks.push(...other.checks);
    this.errors.push(...other.errors);
  }

  /** The first error, with how many more there are; undefined where all is well. */
  summary(): SluiceError | undefined {
    const [first] = this.errors;
    if (first === undefined) return undefined;
    const { code, retryable, context } = first;
    const text = first.message.slice(code.length + 2);
    const failed = this.errors.length;
    const message =
      failed === 1
        ? text
        : `${failed} of ${this.checks.length} checks failed, each is told above; the first: ${text}`;
    return new SluiceError(code, message, { retryable, context: { ...context, failed }, cause: first });
  }
}

/** The time that all checks have together. To be ended. */
export class Deadline {
  readonly ms: number;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.ms = ms;
    this.#timer = setTimeout(
      () => this.#controller.abort(this.#late('BROKER_UNREACHABLE', 'the broker')),
      ms,
    );
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get passed(): boolean {
    return this.signal.aborted;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** The result of `work`, or an error of `code` that names the limit where it does not come in time. */
  async within<T>(code: ErrorCode, what: string, work: () => Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const onAbort = (): void => late.reject(this.#late(code, what));
    if (this.passed) throw this.#late(code, what);
    this.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([work(), late.promise]);
    } finally {
      this.signal.removeEventListener('abort', onAbort);
    }
  }

  #late(code: ErrorCode, what: string): SluiceError {
    const limit = formatDuration(this.ms);
    return new SluiceError(
      code,
      `${what} gave no answer within ${limit}, the limit of this command (--timeout)`,
      { context: { timeoutMs: this.ms } },
    );
  }
}
