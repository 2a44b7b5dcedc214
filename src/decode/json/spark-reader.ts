import type { JsonFormat } from '../../core/value-format.ts';
import type { FieldPlan, ObjectPlan } from './field-plan.ts';
import { JsonFault } from './json-fault.ts';
import { JsonReader } from './json-reader.ts';
import { MINUS } from './json-scanner.ts';
import type { RecordReader } from './record-reader.ts';
import type { RestMembers } from './rest-members.ts';
import { SparkDocument } from './spark-document.ts';
import { MAX_NUMBER_DIGITS } from './spark-syntax.ts';
import { SparkTime } from './spark-time.ts';

/**
 * Reads documents as Spark's from_json does (JacksonParser and JSONOptions of Spark 4.1, all options as they come). A
 * document on which the strict rules and Spark's agree, as nearly all do, is read by the fast reader; any other is read
 * again by `SparkDocument`.
 */
export class SparkReader implements RecordReader {
  fieldFault = false;
  unknownContent = false;
  duplicateKeys = 0;
  unknownFields = 0;

  private readonly fast: AgreedReader;
  private readonly slow: SparkDocument;
  private readonly rest: RestMembers | null;

  constructor(format: JsonFormat, partial: boolean, rest: RestMembers | null) {
    this.fast = new AgreedReader(format, rest);
    this.slow = new SparkDocument(format, partial, rest, new SparkTime(format.timeZone));
    this.rest = rest;
  }

  get bytes(): Uint8Array {
    return this.fast.bytes;
  }

  setBytes(data: Uint8Array, view: DataView): void {
    this.fast.setBytes(data, view);
  }

  clearCounts(): void {
    this.duplicateKeys = 0;
    this.unknownFields = 0;
    this.fast.clearCounts();
  }

  readDocument(plan: ObjectPlan, from: number, end: number): boolean {
    const { fast, slow } = this;
    const field = plan.fields.find((f) => !f.filled);
    const rows = field?.column.length ?? 0;
    const { duplicateKeys, unknownFields } = fast;
    try {
      if (fast.readDocument(plan, from, end)) {
        this.fieldFault = false;
        this.unknownContent = fast.unknownContent;
        this.duplicateKeys += fast.duplicateKeys - duplicateKeys;
        this.unknownFields += fast.unknownFields - unknownFields;
        return true;
      }
    } catch (e) {
      if (!(e instanceof JsonFault)) throw e;
      fast.forget();
    }
    for (const each of plan.fields) if (!each.filled) each.column.truncate(rows);
    this.rest?.clear();
    const isObject = slow.read(plan, this.bytes.subarray(from, end));
    this.fieldFault = slow.fieldFault;
    this.unknownContent = slow.unknownContent;
    this.duplicateKeys += slow.duplicateKeys;
    this.unknownFields += slow.unknownFields;
    return isObject;
  }

  endFault(): void {}
}

/** The strict reader, stricter still: a fault wherever Spark would read otherwise. */
class AgreedReader extends JsonReader {
  constructor(format: JsonFormat, rest: RestMembers | null) {
    super({ ...format, decimalRounding: 'refuse' }, false, rest);
  }

  /** After a fault that is none for Spark. */
  forget(): void {
    this.forgetMaps();
  }

  /** Only integer tokens fit integers. */
  protected override readLongSlow(field: FieldPlan, at: number): number {
    this.lexInteger(field, at);
    return super.readLongSlow(field, at);
  }

  protected override readIntSlow(field: FieldPlan, at: number): number {
    this.lexInteger(field, at);
    return super.readIntSlow(field, at);
  }

  private lexInteger(field: FieldPlan, at: number): void {
    const until = this.lexNumber(at);
    const digits = Math.max(1, this.digitCount) + (this.negative ? 1 : 0);
    if (until - at !== digits) this.failType(field, at);
  }

  /** Jackson refuses numbers of more digits. */
  protected override lexNumber(at: number): number {
    const until = super.lexNumber(at);
    if (until - at > MAX_NUMBER_DIGITS) this.failSyntax(at, 'a number of many digits');
    return until;
  }

  /** The token -0 is an integer. */
  protected override readDouble(field: FieldPlan, at: number): number {
    this.refuseMinusZero(field, at);
    return super.readDouble(field, at);
  }

  protected override readFloat(field: FieldPlan, at: number): number {
    this.refuseMinusZero(field, at);
    return super.readFloat(field, at);
  }

  private refuseMinusZero(field: FieldPlan, at: number): void {
    const { data } = this;
    if (data[at] === MINUS && data[at + 1] === 0x30 && data[at + 2] !== 0x2e) this.failType(field, at);
  }

  /** Spark takes no zone behind a time without seconds. */
  protected override readOddTimestamp(field: FieldPlan, at: number): number {
    this.readText(at);
    if (this.textUntil - this.textFrom < 19 || this.text[this.textFrom + 16] !== 0x3a)
      this.failType(field, at);
    return super.readOddTimestamp(field, at);
  }

  protected override readEpoch(field: FieldPlan, at: number): number {
    this.failType(field, at);
  }

  /** Padding must be there. */
  protected override base64Size(field: FieldPlan, at: number): number {
    if ((this.textUntil - this.textFrom) % 4 !== 0) this.failType(field, at);
    return super.base64Size(field, at);
  }

  /** Spark keeps all entries of a map. */
  protected override checkTwins(field: FieldPlan, at: number): void {
    this.failType(field, at);
  }
}
