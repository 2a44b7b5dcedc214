import type { JsonFormat } from '../../core/value-format.ts';
import { fieldPath, shortName } from './field-path.ts';
import { type FieldPlan, HASH_START, hashByte, hashOf, type ObjectPlan, OP } from './field-plan.ts';
import { JsonFault } from './json-fault.ts';
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from './json-scanner.ts';
import { JsonValues } from './json-values.ts';
import { MapKeys } from './map-keys.ts';
import type { RecordReader } from './record-reader.ts';
import type { RestMembers } from './rest-members.ts';

const utf8 = new TextEncoder();

/** How many fields behind the one that is expected are tried before a name is looked up. */
const AHEAD = 4;

/** Reads documents into the columns of a plan, one row each. */
export class JsonReader extends JsonValues implements RecordReader {
  duplicateKeys = 0;
  unknownFields = 0;
  /** Has the record a field that no column takes and that is not null or empty? */
  unknownContent = false;
  /** Has a field of the record been made null because it could not be read? */
  fieldFault = false;

  private readonly refuseUnknown: boolean;
  private readonly partial: boolean;
  private readonly caseInsensitive: boolean;
  private readonly rest: RestMembers | null;
  private readonly mapKeys = new MapKeys();
  private stamp = 0;

  /** `partial`: what cannot be read becomes null with the nearest field around it that may be null. */
  constructor(format: JsonFormat, partial: boolean, rest: RestMembers | null) {
    super(format);
    this.partial = partial;
    this.rest = rest;
    this.refuseUnknown = format.unknownFields === 'quarantine';
    this.caseInsensitive = format.caseInsensitive;
  }

  /** Before records are read: the bytes that hold them, with `SLACK` more behind the last one. */
  setBytes(data: Uint8Array, view: DataView): void {
    this.data = data;
    this.view = view;
  }

  /** The bytes that the present record is in. */
  get bytes(): Uint8Array {
    return this.data;
  }

  /** Before a block: nothing is counted yet. */
  clearCounts(): void {
    this.duplicateKeys = 0;
    this.unknownFields = 0;
    this.stamp = 0;
  }

  /**
   * Reads the document [from, end) into a new row of every field of `plan` that takes values. False, and no row, for the
   * document null. Throws `JsonFault`; the columns may then hold a part of the row.
   */
  readDocument(plan: ObjectPlan, from: number, end: number): boolean {
    this.from = from;
    this.end = end;
    this.unknownContent = false;
    this.fieldFault = false;
    const first = this.space(from);
    if (first >= end || this.data[first] !== OPEN_OBJECT) return this.readOddDocument(first);
    const until = this.readObject(plan, first);
    if (until !== end) this.expectEnd(until);
    return true;
  }

  private readOddDocument(first: number): false {
    const { from, end } = this;
    if (first >= end)
      this.fail('EMPTY_VALUE', '', from, from === end ? 'the value is empty' : 'the value is white space');
    this.skipDocument();
    if (this.data[first] === 0x6e) return false;
    this.fail(
      'NOT_AN_OBJECT',
      '',
      first,
      `expected an object, found ${this.kindText(first)} at byte ${first - from}`,
    );
  }

  protected forgetMaps(): void {
    this.mapKeys.clear();
  }

  /** After a fault: what was begun is forgotten, and a text that is no JSON at all is told of before anything else. */
  endFault(fault: JsonFault): void {
    this.forgetMaps();
    if (fault.syntax || fault.reason === 'EMPTY_VALUE') return;
    const { reason, field, at, message } = fault;
    try {
      this.skipDocument();
    } catch (e) {
      if (e !== fault) throw e;
      return;
    }
    fault.reason = reason;
    fault.field = field;
    fault.at = at;
    fault.message = message;
    fault.syntax = false;
  }

  /** Reads the members of the object that opens at `at` into the fields of `plan`. Gives the position behind it. */
  protected readObject(plan: ObjectPlan, at: number): number {
    const { data } = this;
    const stamp = ++this.stamp;
    let seen = 0;
    let last: FieldPlan | null = null;
    let predicted = plan.first;
    let next = this.space(at + 1);
    if (data[next] !== CLOSE_OBJECT) {
      for (;;) {
        const keyAt = next;
        let field: FieldPlan | null;
        if (predicted !== null && this.matches(predicted, next)) {
          field = predicted;
          next += field.keyLength;
        } else {
          field = this.findAhead(predicted, next);
          if (field !== null) {
            next += field.keyLength;
          } else {
            field = this.findField(plan, next) ?? this.meetStranger(plan, next);
            next = this.space(this.found);
            if (data[next] !== COLON) this.failByte(next, "':'");
            next++;
            if (field !== null) {
              if (last === null) plan.first = field;
              else last.next = field;
            }
          }
        }
        if (data[next] <= 0x20) next = this.skipSpace(next);
        if (field === null || field.op === OP.none) {
          next = this.readUnknown(plan, keyAt, next);
        } else {
          if (field.stamp === stamp) this.readAgain(field, keyAt);
          else {
            field.stamp = stamp;
            seen++;
          }
          field.keyAt = keyAt;
          next = this.partial ? this.readPartial(field, next) : this.readValue(field, next);
        }
        if (field !== null) {
          last = field;
          predicted = field.next;
        }
        let byte = data[next];
        if (byte <= 0x20) {
          next = this.skipSpace(next);
          byte = data[next];
        }
        if (byte === COMMA) {
          next = this.space(next + 1);
        } else {
          if (byte !== CLOSE_OBJECT) this.failByte(next, "',' or '}'");
          break;
        }
      }
    }
    if (seen !== plan.valueCount) this.fillMissing(plan, stamp, next);
    return next + 1;
  }

  /** `skipSpace`, small enough to be inlined. */
  private space(at: number): number {
    return this.data[at] > 0x20 ? at : this.skipSpace(at);
  }

  /** Do the name of a field, as it is in the schema, and its colon stand at `at`? */
  private matches(field: FieldPlan, at: number): boolean {
    const { view } = this;
    const { keyLength } = field;
    if (at + keyLength >= this.end || keyLength < 4) return false;
    if (view.getInt32(at, true) !== field.firstWord) return false;
    if (keyLength > 8) {
      if (view.getInt32(at + 4, true) !== field.secondWord) return false;
      if (keyLength > 12) {
        const words = field.innerWords;
        for (let i = 0; i < words.length; i++) {
          if (view.getInt32(at + 8 + i * 4, true) !== words[i]) return false;
        }
      }
    }
    return view.getInt32(at + keyLength - 4, true) === field.lastWord;
  }

  /** The field at `at`, where it is one of the next ones: fields that a record leaves out are passed over. */
  private findAhead(predicted: FieldPlan | null, at: number): FieldPlan | null {
    let field = predicted;
    for (let step = 0; step < AHEAD && field !== null; step++) {
      field = field.next;
      if (field !== null && this.matches(field, at)) return field;
    }
    return null;
  }

  /** Where `findField` ended. */
  private found = 0;

  /** The field whose name stands in the string at `at`, or null. */
  private findField(plan: ObjectPlan, at: number): FieldPlan | null {
    const { data, caseInsensitive } = this;
    if (data[at] !== QUOTE) this.failByte(at, 'a name in double quotes');
    let hash = HASH_START;
    let next = at + 1;
    let upper = false;
    for (let byte = data[next]; byte !== QUOTE; byte = data[++next]) {
      if (byte < 0x20 || byte >= 0x80 || byte === 0x5c) return this.findOddField(plan, at);
      if (caseInsensitive && byte >= 0x41 && byte <= 0x5a) upper = true;
      hash = hashByte(hash, byte);
    }
    if (upper) return this.findOddField(plan, at);
    this.found = next + 1;
    return plan.find(hash, data, at + 1, next - at - 1);
  }

  /** Remembers the name at `at`, which no column has, where it is a plain one. */
  private meetStranger(plan: ObjectPlan, at: number): FieldPlan | null {
    const from = at + 1;
    const until = this.found - 1;
    const { data } = this;
    for (let i = from; i < until; i++) if (data[i] >= 0x80 || data[i] === BACKSLASH) return null;
    return plan.addStranger(this.slice(from, until));
  }

  /** As `findField`, for names with escapes, characters beyond ASCII, or capitals that make no difference. */
  private findOddField(plan: ObjectPlan, at: number): FieldPlan | null {
    this.found = this.readText(at);
    let { text, textFrom: from, textUntil: until } = this;
    if (this.caseInsensitive) {
      text = utf8.encode(
        Buffer.from(text.buffer, text.byteOffset + from, until - from)
          .toString()
          .toLowerCase(),
      );
      from = 0;
      until = text.length;
    }
    return plan.find(hashOf(text, from, until), text, from, until - from);
  }

  /** A field has come again in its object: the last one counts, unless it was only written in another way. */
  private readAgain(field: FieldPlan, keyAt: number): void {
    if (this.caseInsensitive && this.nameAt(keyAt) !== this.nameAt(field.keyAt)) {
      const names = [field.keyAt, keyAt].map((at) => JSON.stringify(shortName(this.nameAt(at))));
      this.failField(field, 'AMBIGUOUS_FIELD', keyAt, `${names.join(' and ')} both match the field`);
    }
    this.duplicateKeys++;
    field.column.truncate(field.column.length - 1);
    this.rest?.forget(field);
  }

  /** The name in the string at `at`. */
  protected nameAt(at: number): string {
    this.readText(at);
    const { text, textFrom, textUntil } = this;
    return Buffer.from(text.buffer, text.byteOffset + textFrom, textUntil - textFrom).toString();
  }

  private readUnknown(plan: ObjectPlan, keyAt: number, at: number): number {
    this.unknownFields++;
    this.sawContent = false;
    const until = this.skipValue(at, plan.depth);
    if (this.sawContent) this.unknownContent = true;
    if (this.refuseUnknown) {
      const path = plan.owner === null ? '' : `${fieldPath(plan.owner)}.`;
      const name = shortName(this.nameAt(keyAt));
      this.fail(
        'UNKNOWN_FIELD',
        path + name,
        keyAt,
        `the field is not in the schema, at byte ${keyAt - this.from}`,
      );
    }
    if (this.rest !== null && !plan.repeated) this.rest.add(plan.owner, keyAt, at, until);
    return until;
  }

  /** Gives the fields that an object did not have their default, or null. */
  private fillMissing(plan: ObjectPlan, stamp: number, at: number): void {
    const { fields } = plan;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i];
      if (field.stamp === stamp || field.filled) continue;
      if (field.appendDefault !== null) field.appendDefault();
      else if (field.required)
        this.failField(field, 'MISSING_REQUIRED', at, 'a required field is missing in the object that ends');
      else field.column.appendNull();
    }
  }

  /** Reads a value; where that does not work the field is null, if it may be. */
  private readPartial(field: FieldPlan, at: number): number {
    const rows = field.column.length;
    const mark = this.mapKeys.begin();
    try {
      return this.readValue(field, at);
    } catch (e) {
      if (!(e instanceof JsonFault) || e.syntax || field.required) throw e;
      this.fieldFault = true;
      this.mapKeys.end(mark);
      field.column.truncate(rows);
      const until = this.skipValue(at, field.depth - 1);
      field.column.appendNull();
      return until;
    }
  }

  /** Reads the value at `at` (no white space before it) into a new row of the field's column. */
  protected readValue(field: FieldPlan, at: number): number {
    switch (field.op) {
      case OP.string:
        return this.readString(field, at);
      case OP.long:
        return this.readLong(field, at);
      case OP.int:
        return this.readInt(field, at);
      case OP.double:
        return this.readDouble(field, at);
      case OP.timestamp:
        return this.readTimestamp(field, at);
      case OP.boolean:
        return this.readBoolean(field, at);
      case OP.decimal:
        return this.readDecimal(field, at);
      case OP.struct:
        return this.readStruct(field, at);
      case OP.list:
        return this.readList(field, at);
      case OP.map:
        return this.readMap(field, at);
      default:
        return this.readRareValue(field, at);
    }
  }

  private readRareValue(field: FieldPlan, at: number): number {
    switch (field.op) {
      case OP.float:
        return this.readFloat(field, at);
      case OP.date:
        return this.readDate(field, at);
      case OP.time:
        return this.readTime(field, at);
      case OP.uuid:
        return this.readUuid(field, at);
      case OP.binary:
        return this.readBinary(field, at);
      default:
        return this.readFixed(field, at);
    }
  }

  private readStruct(field: FieldPlan, at: number): number {
    if (this.data[at] !== OPEN_OBJECT) return this.readOther(field, at);
    const until = this.readObject(field.object as ObjectPlan, at);
    field.struct.endRow();
    return until;
  }

  private readList(field: FieldPlan, at: number): number {
    const { data } = this;
    if (data[at] !== OPEN_LIST) return this.readOther(field, at);
    const element = field.element as FieldPlan;
    let next = this.space(at + 1);
    if (data[next] === CLOSE_LIST) {
      next++;
    } else {
      for (;;) {
        next = this.space(this.readValue(element, next));
        if (data[next] === COMMA) next = this.space(next + 1);
        else if (data[next] === CLOSE_LIST) break;
        else this.failByte(next, "',' or ']'");
      }
      next++;
    }
    field.list.endRow();
    return next;
  }

  private readMap(field: FieldPlan, at: number): number {
    if (this.data[at] !== OPEN_OBJECT) return this.readOther(field, at);
    const { mapKeys, unknownFields, duplicateKeys } = this;
    const rows = field.map.length;
    const mark = mapKeys.begin();
    let until = this.readEntries(field, at, null);
    const twins = mapKeys.earlierTwins(mark);
    if (twins !== null) {
      this.checkTwins(field, at);
      field.map.truncate(rows);
      this.unknownFields = unknownFields;
      this.duplicateKeys = duplicateKeys + twins.size;
      until = this.readEntries(field, at, twins);
    }
    mapKeys.end(mark);
    field.map.endRow();
    return until;
  }

  /** Keys of the map at `at` stand more than once: of their values the last one counts. */
  protected checkTwins(_field: FieldPlan, _at: number): void {}

  /** Reads the entries of a map but those whose ordinals are in `leftOut`. */
  private readEntries(field: FieldPlan, at: number, leftOut: ReadonlySet<number> | null): number {
    const { data } = this;
    const key = field.key as FieldPlan;
    const value = field.element as FieldPlan;
    let next = this.space(at + 1);
    if (data[next] === CLOSE_OBJECT) return next + 1;
    for (let ordinal = 0; ; ordinal++) {
      const keyAt = next;
      next = this.skipKey(next);
      if (leftOut?.has(ordinal)) {
        next = this.skipValue(next, field.depth);
      } else {
        this.readKey(key, keyAt);
        next = this.readValue(value, next);
      }
      next = this.space(next);
      if (data[next] === COMMA) next = this.space(next + 1);
      else if (data[next] === CLOSE_OBJECT) return next + 1;
      else this.failByte(next, "',' or '}'");
    }
  }

  /** Appends the key whose string opens at `at`. */
  private readKey(key: FieldPlan, at: number): void {
    this.readText(at);
    const { text, textFrom, textUntil } = this;
    this.mapKeys.add(text, textFrom, textUntil);
    if (key.op === OP.string) {
      key.bytes.appendFrom(text, textFrom, textUntil - textFrom, true);
    } else if (key.op === OP.date) {
      this.readDate(key, at);
    } else {
      const name = Buffer.from(text.buffer, text.byteOffset + textFrom, textUntil - textFrom).toString(
        'latin1',
      );
      if (!/^(?:0|-?[1-9]\d*)$/.test(name)) this.failType(key, at);
      const number = name.length > 20 ? 1n << 64n : BigInt(name);
      const bits = key.op === OP.int ? 32 : 64;
      if (BigInt.asIntN(bits, number) !== number)
        this.failField(key, 'OUT_OF_RANGE', at, `a key does not fit ${String(key.type)}`);
      if (key.op === OP.int) key.int32.append(Number(number));
      else key.int64.appendBigInt(number);
    }
  }
}
