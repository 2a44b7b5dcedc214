import type { CsvFormat } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Splits one record of CSV (RFC 4180) into its fields, without a string being made. A field is quoted where its first
 * byte is the quote; inside, a doubled quote stands for one, and so does the escape with a quote or an escape behind it.
 * A quoted field may hold delimiters and line breaks. In a field that is not quoted, quotes are characters like others.
 * One line break at the end is no part of the record.
 */
export class CsvRecord {
  /** Fields of the last record; those beyond `maxFields` are counted only. */
  count = 0;
  /** Of field i: bytes [from[i], until[i]) of `unescaped` where `escaped[i]` is 1, else of the record's own bytes. */
  readonly from: Uint32Array;
  readonly until: Uint32Array;
  readonly quoted: Uint8Array;
  readonly escaped: Uint8Array;
  /** Where each field begins in the record's bytes, its quote included. */
  readonly start: Uint32Array;
  unescaped = new Uint8Array(256);
  /** The last record has bytes above 0x7f. */
  multiByte = false;
  /** What is wrong with the last record, and where. */
  fault = '';
  faultAt = 0;

  private readonly delimiter: number;
  private readonly quote: number;
  private readonly escapeMark: number;
  private used = 0;

  /** Throws CONFIG_INVALID for marks that are not one ASCII character each, or that are the same. */
  constructor(format: Pick<CsvFormat, 'delimiter' | 'quote' | 'escape'>, maxFields: number) {
    this.delimiter = markOf('delimiter', format.delimiter);
    this.quote = markOf('quote', format.quote);
    this.escapeMark = markOf('escape', format.escape);
    if (this.delimiter === this.quote || this.delimiter === this.escapeMark)
      throw new SluiceError(
        'CONFIG_INVALID',
        `delimiter ${JSON.stringify(format.delimiter)}: quote or escape is the same character; choose another one`,
      );
    this.from = new Uint32Array(maxFields);
    this.until = new Uint32Array(maxFields);
    this.start = new Uint32Array(maxFields);
    this.quoted = new Uint8Array(maxFields);
    this.escaped = new Uint8Array(maxFields);
  }

  /** Splits bytes [from, end). False where they are no record: then `fault` says why. */
  split(bytes: Uint8Array, from: number, end: number): boolean {
    const until = withoutLineBreak(bytes, from, end);
    const { delimiter } = this;
    this.count = 0;
    this.used = 0;
    this.multiByte = false;
    let at = from;
    for (;;) {
      at =
        bytes[at] === this.quote && at < until
          ? this.readQuoted(bytes, at, until)
          : this.readPlain(bytes, at, until);
      if (at < 0) return false;
      if (at === until) return true;
      if (bytes[at] !== delimiter) return this.fail(at, 'expected a delimiter behind the closing quote') >= 0;
      at++;
    }
  }

  /** Gives the position of the delimiter behind the field, or of the end; negative at a fault. */
  private readPlain(bytes: Uint8Array, start: number, until: number): number {
    const { delimiter } = this;
    let all = 0;
    let at = start;
    for (; at < until; at++) {
      const byte = bytes[at];
      if (byte === delimiter) break;
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN)
        return this.fail(at, 'a second line begins here; a record is one line, line breaks are quoted');
      all |= byte;
    }
    if (all >= 0x80) this.multiByte = true;
    this.add(start, start, at, 0, 0);
    return at;
  }

  private readQuoted(bytes: Uint8Array, start: number, until: number): number {
    const { quote, escapeMark } = this;
    let all = 0;
    /** Up to here the field has been copied; negative as long as there is no need to copy. */
    let copied = -1;
    const used = this.used;
    let at = start + 1;
    for (; ; at++) {
      if (at >= until) return this.fail(start, 'a quote is not closed');
      const byte = bytes[at];
      all |= byte;
      if (byte !== quote && byte !== escapeMark) continue;
      const next = at + 1 < until ? bytes[at + 1] : -1;
      const stands = next === quote || (next === escapeMark && byte === escapeMark);
      if (!stands) {
        if (byte === quote) break;
        continue;
      }
      this.copy(bytes, copied < 0 ? start + 1 : copied, at, until - start);
      copied = at + 1;
      at++;
    }
    if (all >= 0x80) this.multiByte = true;
    if (copied < 0) {
      this.add(start, start + 1, at, 1, 0);
    } else {
      this.copy(bytes, copied, at, until - start);
      this.add(start, used, this.used, 1, 1);
    }
    return at + 1;
  }

  /** Copies bytes [from, until); `room` is what the whole field takes at most. */
  private copy(bytes: Uint8Array, from: number, until: number, room: number): void {
    const need = this.used + room;
    if (need > this.unescaped.length) {
      const grown = new Uint8Array(need * 2);
      grown.set(this.unescaped.subarray(0, this.used));
      this.unescaped = grown;
    }
    for (let at = from; at < until; at++) this.unescaped[this.used++] = bytes[at];
  }

  private add(start: number, from: number, until: number, quoted: number, escaped: number): void {
    const at = this.count++;
    if (at >= this.from.length) return;
    this.start[at] = start;
    this.from[at] = from;
    this.until[at] = until;
    this.quoted[at] = quoted;
    this.escaped[at] = escaped;
  }

  private fail(at: number, message: string): number {
    this.fault = message;
    this.faultAt = at;
    return -1;
  }
}

function markOf(option: string, text: string): number {
  const code = text.length === 1 ? text.charCodeAt(0) : 128;
  if (code > 127 || code === LINE_FEED || code === CARRIAGE_RETURN)
    throw new SluiceError(
      'CONFIG_INVALID',
      `${option} ${JSON.stringify(text)}: expected one ASCII character, no line break`,
      { context: { option } },
    );
  return code;
}

function withoutLineBreak(bytes: Uint8Array, from: number, end: number): number {
  let until = end;
  if (until > from && bytes[until - 1] === LINE_FEED) until--;
  if (until > from && bytes[until - 1] === CARRIAGE_RETURN) until--;
  return until;
}
