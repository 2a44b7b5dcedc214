import type { CsvFormat } from '../../core/value-format.ts';
import { type FieldPlan, OP } from '../json/field-plan.ts';
import { MINUS, QUOTE, SLACK } from '../json/json-scanner.ts';
import { JsonValues, typeText } from '../json/json-values.ts';

const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;

/**
 * Reads the text of a field of CSV into a column, by the readers of JSON's values, so that a text means the same in both.
 * Beyond JSON: a sign +, leading zeros, true and false in any case. A number in a timestamp column is one since 1970.
 */
export class CsvValues extends JsonValues {
  /** Bytes of the field in work, in `data` from 1 on, a quote on both sides. */
  private size = 0;

  constructor(format: CsvFormat) {
    super({
      ...format,
      format: 'json',
      compat: 'strict',
      unknownFields: 'ignore',
      caseInsensitive: false,
      nullDocument: 'quarantine',
    });
  }

  /**
   * Appends bytes [from, until) to the field's column as one row. `position` is where the field stands in its record.
   * Throws a JsonFault, and leaves the column as it was.
   */
  append(field: FieldPlan, bytes: Uint8Array, from: number, until: number, position: number): void {
    if (field.op === OP.string) {
      field.bytes.appendFrom(bytes, from, until - from, true);
      return;
    }
    this.take(bytes, from, until, position);
    const isNumber = this.isNumber();
    // Numbers are read from 1 on, texts from the quote before it.
    if (isNumber) this.from++;
    if (isNumber ? !this.readNumber(field) : !this.readWord(field))
      this.failField(field, 'TYPE_MISMATCH', 0, `expected ${typeText(field)}, found another text`);
  }

  /** False where the column takes no number. */
  private readNumber(field: FieldPlan): boolean {
    switch (field.op) {
      case OP.long:
        this.readLong(field, 1);
        return true;
      case OP.int:
        this.readInt(field, 1);
        return true;
      case OP.double:
        this.readDouble(field, 1);
        return true;
      case OP.float:
        this.readFloat(field, 1);
        return true;
      case OP.decimal:
        this.readDecimal(field, 1);
        return true;
      case OP.timestamp:
        this.readTimestamp(field, 1);
        return true;
      default:
        return this.readWord(field);
    }
  }

  /** False where the column takes nothing but numbers, or true and false. */
  private readWord(field: FieldPlan): boolean {
    switch (field.op) {
      case OP.boolean:
        return this.readTruth(field);
      case OP.timestamp:
        this.readTimestamp(field, 0);
        return true;
      case OP.date:
        this.readDate(field, 0);
        return true;
      case OP.time:
        this.readTime(field, 0);
        return true;
      case OP.uuid:
        this.readUuid(field, 0);
        return true;
      case OP.binary:
        this.readBinary(field, 0);
        return true;
      case OP.fixed:
        this.readFixed(field, 0);
        return true;
      default:
        return false;
    }
  }

  /** Throws MISSING_REQUIRED where the field is required. */
  appendNull(field: FieldPlan, position: number): void {
    this.from = -position;
    if (field.required) this.failField(field, 'MISSING_REQUIRED', 0, 'a required field is null');
    field.column.appendNull();
  }

  private take(bytes: Uint8Array, from: number, until: number, position: number): void {
    const size = until - from;
    if (this.data.length < size + 2 + SLACK) {
      this.data = new Uint8Array((size + 2) * 2 + SLACK);
      this.view = new DataView(this.data.buffer);
    }
    const { data } = this;
    data[0] = QUOTE;
    for (let at = from, to = 1; at < until; ) data[to++] = bytes[at++];
    data[size + 1] = QUOTE;
    this.size = size;
    this.end = size + 2;
    this.from = -position;
  }

  /** The whole field is the text, whatever characters are in it. */
  protected override readText(): number {
    this.text = this.data;
    this.textFrom = 1;
    this.textUntil = this.size + 1;
    return this.end;
  }

  /** Is the field a number? If so it is written anew as JSON has it: no plus, no leading zeros. */
  private isNumber(): boolean {
    const { data } = this;
    let at = 1;
    let to = 1;
    if (data[at] === MINUS) to = ++at;
    else if (data[at] === PLUS) at++;
    if ((data[at] ^ ZERO) > 9) return false;
    let end = this.size + 1;
    let next = at;
    while ((data[next] ^ ZERO) < 10) next++;
    if (data[next] === POINT) {
      do next++;
      while ((data[next] ^ ZERO) < 10);
      if (data[next - 1] === POINT) return false;
    }
    if ((data[next] | 0x20) === 0x65) {
      next++;
      if (data[next] === MINUS || data[next] === PLUS) next++;
      if ((data[next] ^ ZERO) > 9) return false;
      do next++;
      while ((data[next] ^ ZERO) < 10);
    }
    if (next !== end) return false;
    while (data[at] === ZERO && (data[at + 1] ^ ZERO) < 10) at++;
    if (at !== to) {
      data.copyWithin(to, at, end + 1);
      end -= at - to;
      this.size = end - 1;
      this.end = end + 1;
    }
    return true;
  }

  private readTruth(field: FieldPlan): boolean {
    const isTrue = this.isWord(0x74, 'true');
    if (!isTrue && !this.isWord(0x66, 'false')) return false;
    field.booleans.append(isTrue);
    return true;
  }

  private isWord(first: number, word: string): boolean {
    const { data } = this;
    if (this.size !== word.length || (data[1] | 0x20) !== first) return false;
    for (let i = 1; i < word.length; i++) if ((data[1 + i] | 0x20) !== word.charCodeAt(i)) return false;
    return true;
  }
}
