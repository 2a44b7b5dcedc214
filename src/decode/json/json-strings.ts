import { BACKSLASH, firstByte, JsonScanner, QUOTE, SLACK, simpleEscape, stopBits } from './json-scanner.ts';

/** Strings of a JSON text: their characters as UTF-8 bytes, escapes taken away. */
export class JsonStrings extends JsonScanner {
  /** Where the last string that was copied ends in its target. */
  protected written = 0;
  /** The text that `readText` found: bytes [textFrom, textUntil) of `text`. */
  protected text: Uint8Array = this.data;
  protected textFrom = 0;
  protected textUntil = 0;

  private scratch = new Uint8Array(1024);

  /**
   * Copies the rest of a string from `at`, inside of its quotes, to `out` from `to`; `out` has room for all bytes up to
   * `end` and four more. Gives the position behind the closing quote, and in `written` the end of what was copied.
   */
  protected copyString(at: number, out: Uint8Array, to: number): number {
    const { data, view, end } = this;
    for (;;) {
      while (at < end) {
        const stops = stopBits(view.getInt32(at, true));
        if (stops !== 0) break;
        out[to] = data[at];
        out[to + 1] = data[at + 1];
        out[to + 2] = data[at + 2];
        out[to + 3] = data[at + 3];
        at += 4;
        to += 4;
      }
      if (at >= end) this.failSyntax(at, '');
      for (let rest = firstByte(stopBits(view.getInt32(at, true))); rest > 0; rest--) out[to++] = data[at++];
      if (at >= end) this.failSyntax(at, '');
      const byte = data[at];
      if (byte === QUOTE) {
        this.written = to;
        return at + 1;
      }
      if (byte >= 0x80) {
        const until = this.skipMultiByte(at);
        while (at < until) out[to++] = data[at++];
      } else if (byte === BACKSLASH) {
        const until = this.skipEscape(at);
        to = this.putEscape(at, until, out, to);
        at = until;
      } else {
        this.skipString(at - 1);
      }
    }
  }

  /** Puts the character that the escape [at, until) stands for. Gives the position behind it. */
  private putEscape(at: number, until: number, out: Uint8Array, to: number): number {
    const letter = this.data[at + 1];
    if (letter !== 0x75) {
      out[to] = simpleEscape(letter);
      return to + 1;
    }
    let point = this.hexUnit(at + 2);
    if (until - at === 12) point = 0x10000 + ((point - 0xd800) << 10) + (this.hexUnit(at + 8) - 0xdc00);
    return putUtf8(point, out, to);
  }

  /** Reads the string whose opening quote stands at `at` into `text`: a view of the block where it has no escapes. */
  protected readText(at: number): number {
    this.escaped = false;
    const until = this.skipString(at);
    if (this.escaped) {
      if (this.scratch.length < until - at + SLACK) this.scratch = new Uint8Array((until - at) * 2 + SLACK);
      this.copyString(at + 1, this.scratch, 0);
      this.text = this.scratch;
      this.textFrom = 0;
      this.textUntil = this.written;
    } else {
      this.text = this.data;
      this.textFrom = at + 1;
      this.textUntil = until - 1;
    }
    return until;
  }
}

/** Writes a code point that is no surrogate. */
export function putUtf8(point: number, out: Uint8Array, to: number): number {
  if (point < 0x80) {
    out[to++] = point;
  } else if (point < 0x800) {
    out[to++] = 0xc0 | (point >> 6);
    out[to++] = 0x80 | (point & 0x3f);
  } else if (point < 0x10000) {
    out[to++] = 0xe0 | (point >> 12);
    out[to++] = 0x80 | ((point >> 6) & 0x3f);
    out[to++] = 0x80 | (point & 0x3f);
  } else {
    out[to++] = 0xf0 | (point >> 18);
    out[to++] = 0x80 | ((point >> 12) & 0x3f);
    out[to++] = 0x80 | ((point >> 6) & 0x3f);
    out[to++] = 0x80 | (point & 0x3f);
  }
  return to;
}
