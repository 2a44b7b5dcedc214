import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  JsonScanner,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SLACK,
} from '../json/json-scanner.ts';
import { TimestampText } from '../json/timestamp-text.ts';
import { type KindConflict, mergeKinds } from './merge-kinds.ts';
import { EMPTY_TEXT, PLAIN, UNKNOWN, type ValueKind } from './value-kind.ts';

const MAX_LONG = 9223372036854775807n;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads what kinds of values a JSON document holds, by the same grammar as the decoder. Numbers are told by their digits. */
export class DocumentKind extends JsonScanner {
  /** Objects and lists below this depth that were passed over. */
  tooDeep = 0;
  private readonly inferTimestamps: boolean;
  private readonly maxDepth: number;
  private readonly conflicts: 'text' | 'first';
  private readonly timestamp = new TimestampText();
  private found: ValueKind = UNKNOWN;

  /** `conflicts`: as in InferenceOptions; where texts do not stand for all, a list of values at odds tells nothing. */
  constructor(inferTimestamps: boolean, maxDepth: number, conflicts: 'text' | 'first') {
    super();
    this.conflicts = conflicts;
    this.inferTimestamps = inferTimestamps;
    this.maxDepth = maxDepth;
  }

  /** The fields of a document that is one object; undefined for any other, and for what is no JSON. */
  read(bytes: Uint8Array): ValueKind | undefined {
    if (this.data.length < bytes.length + SLACK) {
      this.data = new Uint8Array(bytes.length * 2 + SLACK);
      this.view = new DataView(this.data.buffer);
    }
    this.data.set(bytes);
    this.data.fill(0, bytes.length, bytes.length + SLACK);
    this.from = 0;
    this.end = bytes.length;
    try {
      const at = this.skipSpace(0);
      if (this.data[at] !== OPEN_OBJECT) return undefined;
      this.expectEnd(this.value(at, 1));
      return this.found;
    } catch (error) {
      if (error === this.fault) return undefined;
      throw error;
    }
  }

  /** Reads the value at `at` inside of `depth - 1` others into `found`; gives the position behind it. */
  private value(at: number, depth: number): number {
    const byte = this.data[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (depth <= this.maxDepth) return byte === OPEN_OBJECT ? this.object(at, depth) : this.list(at, depth);
      this.tooDeep++;
      this.found = UNKNOWN;
      return this.skipValue(at, depth - 1);
    }
    const end = this.skipValue(at, depth - 1);
    this.found = this.scalar(at, end);
    return end;
  }

  private object(open: number, depth: number): number {
    const fields = new Map<string, ValueKind>();
    let at = this.skipSpace(open + 1);
    if (this.data[at] !== CLOSE_OBJECT) {
      for (;;) {
        if (this.data[at] !== QUOTE) this.failByte(at, 'a name in double quotes');
        const end = this.skipString(at);
        const name = this.name(at, end);
        at = this.skipSpace(end);
        if (this.data[at] !== COLON) this.failByte(at, "':'");
        at = this.skipSpace(this.value(this.skipSpace(at + 1), depth + 1));
        // As the decoder does: of a name that comes twice the last value counts.
        fields.set(name, this.found);
        if (this.data[at] === CLOSE_OBJECT) break;
        if (this.data[at] !== COMMA) this.failByte(at, "',' or '}'");
        at = this.skipSpace(at + 1);
      }
    }
    this.found = { kind: 'struct', fields };
    return at + 1;
  }

  private list(open: number, depth: number): number {
    let element: ValueKind = UNKNOWN;
    let atOdds = false;
    const conflict = (_: KindConflict, first: ValueKind): ValueKind => {
      atOdds = true;
      return first;
    };
    const rules = this.conflicts === 'text' ? undefined : { allows: () => true, conflict };
    let at = this.skipSpace(open + 1);
    if (this.data[at] !== CLOSE_LIST) {
      for (;;) {
        at = this.skipSpace(this.value(at, depth + 1));
        element = mergeKinds(element, this.found, rules);
        if (this.data[at] === CLOSE_LIST) break;
        if (this.data[at] !== COMMA) this.failByte(at, "',' or ']'");
        at = this.skipSpace(at + 1);
      }
    }
    this.found = atOdds ? UNKNOWN : { kind: 'list', element };
    return at + 1;
  }

  /** The value [at, end), which is well-formed. */
  private scalar(at: number, end: number): ValueKind {
    switch (this.data[at]) {
      case QUOTE:
        return this.text(at + 1, end - 1);
      case 0x6e:
        return UNKNOWN;
      case 0x74:
      case 0x66:
        return PLAIN.boolean;
      default:
        return this.number(at, end);
    }
  }

  private text(from: number, until: number): ValueKind {
    if (from === until) return EMPTY_TEXT;
    if (!this.inferTimestamps) return PLAIN.string;
    if (this.timestamp.readTimestamp(this.data, from, until)) return PLAIN.timestamptz;
    return this.timestamp.readDate(this.data, from, until) ? PLAIN.date : PLAIN.string;
  }

  private number(from: number, until: number): ValueKind {
    const { data } = this;
    for (let at = from; at < until; at++)
      if (data[at] === 0x2e || (data[at] | 0x20) === 0x65) return PLAIN.double;
    const digits = until - from - (data[from] === 0x2d ? 1 : 0);
    if (digits <= 9) return PLAIN.int;
    if (digits > 38) return PLAIN.double;
    if (digits > 10 && digits <= 18) return PLAIN.long;
    const value = BigInt(utf8.decode(data.subarray(from, until)));
    if (BigInt.asIntN(32, value) === value) return PLAIN.int;
    if (value <= MAX_LONG && value >= -MAX_LONG - 1n) return PLAIN.long;
    return { kind: 'decimal', precision: digits };
  }

  /** The name between the quotes of [at, end). */
  private name(at: number, end: number): string {
    const { data } = this;
    // Within the name: a search of the whole document for each of its names would take for ever.
    const inner = data.subarray(at + 1, end - 1);
    if (!inner.includes(BACKSLASH)) return utf8.decode(inner);
    return JSON.parse(utf8.decode(data.subarray(at, end))) as string;
  }
}
