/** Finds the files in the text of `prepared/N` without parsing it, so that they can be parsed one at a time. */

/** Where the texts of the files of a table begin and end: begin, end, begin, end... */
export type FileTexts = readonly number[];

export interface SplitPrepared {
  /** The text without its files: all of their lists are empty. */
  frame: Uint8Array;
  /** By the place of the table. */
  files: (FileTexts | undefined)[];
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Nothing that Sluice wrote nests deeper. */
const MAX_DEPTH = 64;

/**
 * Undefined where the text is not as Sluice writes it, cut off for one: what is returned is told from it by its brackets
 * alone, and may still be no JSON.
 */
export function splitPrepared(bytes: Uint8Array): SplitPrepared | undefined {
  try {
    return new Splitter(bytes).split();
  } catch (error) {
    if (error instanceof Unexpected) return undefined;
    throw error;
  }
}

class Unexpected extends Error {}

class Splitter {
  readonly #bytes: Uint8Array;
  #at = 0;
  readonly #files: (FileTexts | undefined)[] = [];
  /** Stretches of the frame. */
  readonly #kept: Uint8Array[] = [];
  #keptUntil = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  split(): SplitPrepared {
    this.#members((key) => (key === 'record' ? this.#record() : this.#skip()));
    this.#kept.push(this.#bytes.subarray(this.#keptUntil));
    return { frame: Buffer.concat(this.#kept), files: this.#files };
  }

  #record(): void {
    this.#members((key) => (key === 'tables' ? this.#tables() : this.#skip()));
  }

  #tables(): void {
    let table = 0;
    this.#elements(() => {
      this.#members((key) => (key === 'files' ? this.#fileList(table) : this.#skip()));
      table++;
    });
  }

  #fileList(table: number): void {
    const texts: number[] = [];
    const start = this.#at;
    this.#elements(() => {
      if (this.#peek() !== OPEN_OBJECT) throw new Unexpected();
      texts.push(this.#at);
      this.#skip();
      texts.push(this.#at);
    });
    this.#files[table] = texts;
    this.#kept.push(this.#bytes.subarray(this.#keptUntil, start + 1));
    this.#keptUntil = this.#at - 1;
  }

  /** An object; `value` reads the value of a key. A key that comes twice, or has an escape, is nothing for this. */
  #members(value: (key: string) => void): void {
    const seen = new Set<string>();
    this.#separated(OPEN_OBJECT, CLOSE_OBJECT, () => {
      const key = this.#key();
      if (seen.has(key)) throw new Unexpected();
      seen.add(key);
      this.#expect(COLON);
      this.#space();
      value(key);
    });
  }

  #elements(element: () => void): void {
    this.#separated(OPEN_LIST, CLOSE_LIST, element);
  }

  #separated(open: number, close: number, item: () => void): void {
    this.#expect(open);
    this.#space();
    if (this.#peek() === close) {
      this.#at++;
      return;
    }
    for (;;) {
      item();
      this.#space();
      const byte = this.#peek();
      this.#at++;
      if (byte === close) return;
      if (byte !== COMMA) throw new Unexpected();
      this.#space();
    }
  }

  #key(): string {
    if (this.#peek() !== QUOTE) throw new Unexpected();
    const start = this.#at + 1;
    this.#string();
    const key = Buffer.from(this.#bytes.subarray(start, this.#at - 1)).toString('latin1');
    if (key.includes('\\')) throw new Unexpected();
    return key;
  }

  /** Any value, by its brackets. */
  #skip(): void {
    const bytes = this.#bytes;
    let depth = 0;
    for (;;) {
      const byte = this.#peek();
      if (byte === QUOTE) this.#string();
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        if (++depth > MAX_DEPTH) throw new Unexpected();
        this.#at++;
        continue;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        // The end of what the value stands in.
        if (depth === 0) return;
        depth--;
        this.#at++;
      } else if (byte === COMMA && depth === 0) return;
      else this.#at++;
      if (depth === 0 && isBracketOrQuote(bytes[this.#at - 1])) return;
    }
  }

  #string(): void {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    if (at >= bytes.length) throw new Unexpected();
    this.#at = at + 1;
  }

  #expect(byte: number): void {
    this.#space();
    if (this.#peek() !== byte) throw new Unexpected();
    this.#at++;
  }

  #space(): void {
    const bytes = this.#bytes;
    while (this.#at < bytes.length && bytes[this.#at] <= 0x20) this.#at++;
  }

  #peek(): number {
    if (this.#at >= this.#bytes.length) throw new Unexpected();
    return this.#bytes[this.#at];
  }
}

function isBracketOrQuote(byte: number): boolean {
  return byte === QUOTE || byte === CLOSE_LIST || byte === CLOSE_OBJECT;
}
