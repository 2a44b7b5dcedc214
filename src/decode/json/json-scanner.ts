import type { ReasonCode } from '../reasons.ts';
import { JsonFault } from './json-fault.ts';

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const MINUS = 0x2d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;

const TRUE = 0x65757274;
const NULL = 0x6c6c756e;
const ALSE = 0x65736c61;

/** Containers that may be open inside of each other. */
export const MAX_DEPTH = 512;

/**
 * The grammar of RFC 8259 over bytes [from, end) of a block, strict: walks over values, finds the first byte that is not as
 * it must be. Positions are those of the block. Methods take a position and give back the one behind what they read;
 * they throw the one `JsonFault`.
 *
 * A text that is cut short may make a method read past `end`, into the next record: nothing comes of it, because whoever
 * asks for a whole document checks that it ended by `end`. Before the end of the block there are always `SLACK` bytes.
 */
export class JsonScanner {
  protected data: Uint8Array = new Uint8Array(SLACK);
  protected view: DataView = new DataView(this.data.buffer);
  /** Of the value in work: [from, end). */
  protected from = 0;
  protected end = 0;
  protected readonly fault = new JsonFault();

  /** Has `skipValue` met a string, a number, true or false? */
  protected sawContent = false;
  /** Has `skipString` met an escape? */
  protected escaped = false;
  /** Is the open container an object (1) or a list (0), by depth. */
  private readonly kinds = new Uint8Array(MAX_DEPTH + 2);

  // What `lexNumber` found: the value is mantissa * 10^(exponent - fractionDigits), the mantissa's first 9 digits in
  // `mantissaHigh`, the next 9 or fewer in `mantissaLow`.
  protected negative = false;
  protected mantissaHigh = 0;
  protected mantissaLow = 0;
  /** Digits of the mantissa without leading zeros; beyond 18 they are not in the two parts. */
  protected digitCount = 0;
  protected fractionDigits = 0;
  /** As written, kept within +-1e9. */
  protected exponent = 0;

  /** Throws a fault of a field, or of the record as it is. */
  protected fail(reason: ReasonCode, field: string, at: number, message: string): never {
    const { fault } = this;
    fault.reason = reason;
    fault.field = field;
    fault.at = at;
    fault.message = message;
    fault.syntax = false;
    throw fault;
  }

  /** Throws the fault of a text that is not JSON. */
  protected failSyntax(at: number, what: string, reason: ReasonCode = 'INVALID_JSON'): never {
    const { fault } = this;
    fault.reason = reason;
    fault.field = '';
    fault.syntax = true;
    if (at >= this.end) {
      fault.reason = 'INVALID_JSON';
      fault.at = this.end;
      fault.message = `the text ends too early, at byte ${this.end - this.from}`;
    } else {
      fault.at = at;
      fault.message = `${what} at byte ${at - this.from}`;
    }
    throw fault;
  }

  /** Throws: the byte at a position is none that can stand there. */
  protected failByte(at: number, expected: string): never {
    const byte = this.data[at];
    if (byte >= 0x80 && at < this.end) this.skipMultiByte(at);
    if (byte === 0xef && this.data[at + 1] === 0xbb && this.data[at + 2] === 0xbf && at === this.from)
      this.failSyntax(at, 'a byte order mark');
    this.failSyntax(at, `expected ${expected}, found ${byteText(byte)}`);
  }

  /** The position of the next byte that is no white space. */
  protected skipSpace(at: number): number {
    const { data } = this;
    let byte = data[at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = data[++at];
    return at;
  }

  /**
   * Walks over the value that begins at `at` (no white space before it), inside of `depth` open containers. Sets
   * `sawContent` where it holds more than nulls and empty containers. Nothing is called recursively.
   */
  protected skipValue(at: number, depth: number): number {
    const { data, kinds } = this;
    const outer = depth;
    for (;;) {
      // At a value.
      const byte = data[at];
      if (byte === QUOTE) {
        this.sawContent = true;
        at = this.skipString(at);
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (++depth > MAX_DEPTH) this.failTooDeep(at);
        const isObject = byte === OPEN_OBJECT;
        kinds[depth] = isObject ? 1 : 0;
        at = this.skipSpace(at + 1);
        if (data[at] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) {
          if (isObject) at = this.skipKey(at);
          continue;
        }
        at++;
        depth--;
      } else {
        at = this.skipScalar(at);
      }
      // Behind a value.
      for (;;) {
        if (depth === outer) return at;
        at = this.skipSpace(at);
        const isObject = kinds[depth] === 1;
        if (data[at] === COMMA) {
          at = this.skipSpace(at + 1);
          if (isObject) at = this.skipKey(at);
          break;
        }
        if (data[at] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST))
          this.failByte(at, isObject ? "',' or '}'" : "',' or ']'");
        at++;
        depth--;
        // A cut text must not be followed into the rest of the block.
        if (at > this.end) this.failSyntax(at, '');
      }
    }
  }

  /**
   * Walks over a whole document [from, end): one value, white space around it. It is done on a copy, because a number that
   * is the whole document has nothing behind it that would end it.
   */
  protected skipDocument(): void {
    const { data, view, from, end } = this;
    const copy = new Uint8Array(end - from + SLACK);
    copy.set(data.subarray(from, end));
    this.data = copy;
    this.view = new DataView(copy.buffer);
    this.from = 0;
    this.end = end - from;
    try {
      this.expectEnd(this.skipValue(this.skipSpace(0), 0));
    } finally {
      this.data = data;
      this.view = view;
      this.from = from;
      this.end = end;
    }
  }

  /** Only white space may stand in [at, end). */
  protected expectEnd(at: number): void {
    if (at > this.end) this.failSyntax(this.end, '');
    const rest = this.skipSpace(at);
    if (rest < this.end) this.failByte(rest, 'the end of the text');
  }

  protected failTooDeep(at: number): never {
    this.failSyntax(at, `nested deeper than ${MAX_DEPTH} levels`, 'TOO_DEEP');
  }

  /** Walks over a name and its colon, up to the value. */
  protected skipKey(at: number): number {
    if (this.data[at] !== QUOTE) this.failByte(at, 'a name in double quotes');
    at = this.skipSpace(this.skipString(at));
    if (this.data[at] !== COLON) this.failByte(at, "':'");
    return this.skipSpace(at + 1);
  }

  private skipScalar(at: number): number {
    const { data } = this;
    const byte = data[at];
    if (byte === MINUS || (byte ^ 0x30) < 10) {
      this.sawContent = true;
      return this.lexNumber(at);
    }
    if (byte === 0x6e) return this.expectNull(at);
    if (byte === 0x74 || byte === 0x66) {
      this.sawContent = true;
      return this.expectBoolean(at);
    }
    this.failByte(at, 'a value');
  }

  /** `null` at `at`, which holds an n. */
  protected expectNull(at: number): number {
    if (this.view.getInt32(at, true) !== NULL) this.failLiteral(at, 'null');
    return at + 4;
  }

  /** `true` or `false`, where a t or an f stands. */
  protected expectBoolean(at: number): number {
    if (this.data[at] === 0x74) {
      if (this.view.getInt32(at, true) !== TRUE) this.failLiteral(at, 'true');
      return at + 4;
    }
    if (this.view.getInt32(at + 1, true) !== ALSE) this.failLiteral(at, 'false');
    return at + 5;
  }

  private failLiteral(at: number, literal: string): never {
    let same = 0;
    while (this.data[at + same] === literal.charCodeAt(same)) same++;
    this.failByte(at + same, literal);
  }

  /** Walks over the string whose opening quote stands at `at`. */
  protected skipString(at: number): number {
    const { data, view, end } = this;
    at++;
    for (;;) {
      while (at < end) {
        const stops = stopBits(view.getInt32(at, true));
        if (stops !== 0) {
          at += firstByte(stops);
          break;
        }
        at += 4;
      }
      if (at >= end) this.failSyntax(at, '');
      const byte = data[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) {
        this.escaped = true;
        at = this.skipEscape(at);
      } else if (byte >= 0x80) at = this.skipMultiByte(at);
      else this.failSyntax(at, `the control character ${byteText(byte)} in a string`);
    }
  }

  /** Walks over the escape whose backslash stands at `at`; one of a surrogate pair's halves takes the other along. */
  protected skipEscape(at: number): number {
    const byte = this.data[at + 1];
    if (byte !== 0x75) {
      if (simpleEscape(byte) === 0) this.failByte(at + 1, 'an escape of JSON');
      return at + 2;
    }
    const unit = this.hexUnit(at + 2);
    if ((unit & 0xf800) !== 0xd800) return at + 6;
    this.lowSurrogate(unit, at);
    return at + 12;
  }

  /** The code unit of four hexadecimal digits. */
  protected hexUnit(at: number): number {
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const digit = hexDigit(this.data[at + i]);
      if (digit < 0) this.failByte(at + i, 'a hexadecimal digit');
      unit = unit * 16 + digit;
    }
    return unit;
  }

  /** The second half of the pair whose first half, `unit`, is escaped at `at`. */
  protected lowSurrogate(unit: number, at: number): number {
    const { data } = this;
    if (unit < 0xdc00 && data[at + 6] === BACKSLASH && data[at + 7] === 0x75) {
      const low = this.hexUnit(at + 8);
      if ((low & 0xfc00) === 0xdc00) return low;
    }
    this.failSyntax(at, `the lone surrogate \\u${unit.toString(16)}`);
  }

  /** Walks over the run of bytes above 0x7f at `at`, which must be well-formed UTF-8 that ends by `end`. */
  protected skipMultiByte(at: number): number {
    const { data, end } = this;
    let lead = data[at];
    while (lead >= 0x80) {
      let size = 2;
      let low = 0x80;
      let high = 0xbf;
      if (lead >= 0xe0) {
        size = lead < 0xf0 ? 3 : 4;
        if (lead === 0xe0) low = 0xa0;
        else if (lead === 0xed) high = 0x9f;
        else if (lead === 0xf0) low = 0x90;
        else if (lead === 0xf4) high = 0x8f;
      }
      const second = data[at + 1];
      if (
        lead < 0xc2 ||
        lead > 0xf4 ||
        at + size > end ||
        second < low ||
        second > high ||
        (size > 2 && (data[at + 2] & 0xc0) !== 0x80) ||
        (size > 3 && (data[at + 3] & 0xc0) !== 0x80)
      )
        this.failSyntax(at, 'no well-formed UTF-8', 'INVALID_UTF8');
      at += size;
      if (at >= end) return at;
      lead = data[at];
    }
    return at;
  }

  /** Reads the number at `at`, a minus or a digit, into the fields above. */
  protected lexNumber(at: number): number {
    const { data } = this;
    let byte = data[at];
    this.negative = byte === MINUS;
    if (byte === MINUS) byte = data[++at];
    let high = 0;
    let low = 0;
    let count = 0;
    let digit = byte ^ 0x30;
    if (digit > 9) this.failByte(at, 'a digit');
    if (digit === 0) {
      byte = data[++at];
      if ((byte ^ 0x30) < 10) this.failSyntax(at - 1, 'a number with a leading zero');
    } else {
      do {
        if (count < 9) high = high * 10 + digit;
        else if (count < 18) low = low * 10 + digit;
        count++;
        byte = data[++at];
        digit = byte ^ 0x30;
      } while (digit < 10);
    }
    let fraction = 0;
    if (byte === 0x2e) {
      const point = at;
      byte = data[++at];
      digit = byte ^ 0x30;
      if (digit > 9) this.failByte(at, 'a digit');
      do {
        if (count !== 0 || digit !== 0) {
          if (count < 9) high = high * 10 + digit;
          else if (count < 18) low = low * 10 + digit;
          count++;
        }
        byte = data[++at];
        digit = byte ^ 0x30;
      } while (digit < 10);
      fraction = at - point - 1;
    }
    this.mantissaHigh = high;
    this.mantissaLow = low;
    this.digitCount = count;
    this.fractionDigits = fraction;
    this.exponent = 0;
    return byte === 0x65 || byte === 0x45 ? this.lexExponent(at) : at;
  }

  private lexExponent(at: number): number {
    const { data } = this;
    let byte = data[++at];
    const negative = byte === MINUS;
    if (negative || byte === 0x2b) byte = data[++at];
    let digit = byte ^ 0x30;
    if (digit > 9) this.failByte(at, 'a digit');
    let exponent = 0;
    do {
      if (exponent < 1e8) exponent = exponent * 10 + digit;
      digit = data[++at] ^ 0x30;
    } while (digit < 10);
    this.exponent = negative ? -exponent : exponent;
    return at;
  }
}

/** Bytes that must follow on a value in its block: words of four bytes are read at any of its bytes. */
export const SLACK = 16;

/** The high bit of each of four bytes (little-endian) that a string cannot simply hold: quote, backslash, control, above 0x7f. The lowest bit set is exact. */
export function stopBits(word: number): number {
  return (
    (((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101) | (word - 0x20202020) | word) &
    0x80808080
  );
}

/** Which of four bytes the lowest bit set stands for. */
export function firstByte(stops: number): number {
  return (31 - Math.clz32(stops & -stops)) >>> 3;
}

/** The byte that an escape of one letter stands for; 0 for letters that are none. */
export function simpleEscape(letter: number): number {
  switch (letter) {
    case 0x22:
    case 0x5c:
    case 0x2f:
      return letter;
    case 0x62:
      return 8;
    case 0x66:
      return 12;
    case 0x6e:
      return 10;
    case 0x72:
      return 13;
    case 0x74:
      return 9;
    default:
      return 0;
  }
}

/** The value of a hexadecimal digit, or -1. */
export function hexDigit(byte: number): number {
  if ((byte ^ 0x30) < 10) return byte ^ 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function byteText(byte: number): string {
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `0x${byte.toString(16).padStart(2, '0')}`;
}
