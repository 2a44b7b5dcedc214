/** A value that never prints: not as text, not as JSON, not in `util.inspect`, not in a template string. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; only for the call that needs it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [INSPECT](): string {
    return '***';
  }
}
