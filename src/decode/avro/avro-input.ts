import type { ReasonCode } from '../reasons.ts';

/**
 * What is wrong with one record. Thrown by the operations; those that hold others put their names before the path on its
 * way up. No Error: a stack would cost more than the record.
 */
export class AvroFault {
  readonly reason: ReasonCode;
  readonly message: string;
  /** Names joined by dots, elements as `[3]`; built from the inside. */
  path = '';

  constructor(reason: ReasonCode, message: string) {
    this.reason = reason;
    this.message = message;
  }

  /** Puts a field's name, or `[3]`, before the path. */
  within(name: string): void {
    this.path = this.path === '' || this.path.startsWith('[') ? name + this.path : `${name}.${this.path}`;
  }
}

/** Rows of nested columns that one value may fill: some for any, and so many for each of its bytes. */
const SLOTS_PER_VALUE = 4096;
const SLOTS_PER_BYTE = 64;
/** Records within records of data that no column takes, where the schema holds itself. */
const MAX_DEPTH = 512;

/**
 * The bytes of one value and the position in them, reused from record to record. Reads are checked against the end of the
 * value; what does not follow the schema throws AvroFault.
 */
export class AvroInput {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  at = 0;
  end = 0;
  /** The words of the last long read. */
  low = 0;
  high = 0;
  /** The end that the last block of items says it has, or -1. */
  blockEnd = -1;
  /** Whether each text is proven UTF-8 where it is read; else the columns are proven as a whole. */
  checksText = false;
  /** Of the value that is read: fields that no column takes and that are not null. */
  unknownFields = 0;
  /** Of the value that is read: map keys that came again. */
  duplicateKeys = 0;
  private start = 0;
  private slots = 0;
  private depth = 0;

  /** The bytes of the values that come; `open` chooses one. */
  attach(bytes: Uint8Array): void {
    if (this.bytes === bytes) return;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes to the body at [at, end) of the value that begins at `start`. */
  open(start: number, at: number, end: number): void {
    this.start = start;
    this.at = at;
    this.end = end;
    this.unknownFields = 0;
    this.duplicateKeys = 0;
    this.slots = SLOTS_PER_VALUE + SLOTS_PER_BYTE * (end - at);
    this.depth = 0;
  }

  /** Lets a step read the bytes of a view as if they stood here. */
  readAside(aside: Uint8Array, asideView: DataView, step: { run(input: AvroInput): void }): void {
    const { bytes, view, at, end } = this;
    this.bytes = aside;
    this.view = asideView;
    this.at = 0;
    this.end = aside.length;
    try {
      step.run(this);
    } finally {
      this.bytes = bytes;
      this.view = view;
      this.at = at;
      this.end = end;
    }
  }

  fail(reason: ReasonCode, message: string): never {
    throw new AvroFault(reason, `${message}, at byte ${this.at - this.start}`);
  }

  /** Moves over `size` bytes and says where they begin. */
  take(size: number): number {
    const { at } = this;
    if (size > this.end - at)
      this.fail('AVRO_DECODE', `${size} bytes are needed and ${this.end - at} are left`);
    this.at = at + size;
    return at;
  }

  readBoolean(): boolean {
    const value = this.bytes[this.take(1)];
    if (value > 1) {
      this.at--;
      this.fail('AVRO_DECODE', `a boolean is ${value}, not 0 or 1`);
    }
    return value === 1;
  }

  /** A zigzag varint of 32 bits. */
  readInt(): number {
    const { at } = this;
    if (at < this.end) {
      const raw = this.bytes[at];
      if (raw < 0x80) {
        this.at = at + 1;
        return (raw >>> 1) ^ -(raw & 1);
      }
    }
    return this.readLongerInt();
  }

  /** A zigzag varint of 64 bits into `low` and `high`. */
  readLong(): void {
    const { bytes, end } = this;
    let { at } = this;
    let raw = 0;
    // 28 bits are read as one word; more in three.
    for (let shift = 0; shift < 28; shift += 7) {
      if (at >= end) this.cutOff();
      const byte = bytes[at++];
      raw |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        const value = (raw >>> 1) ^ -(raw & 1);
        this.low = value;
        this.high = value >> 31;
        this.at = at;
        return;
      }
    }
    this.readLongerLong(raw, at);
  }

  /** An int as the words of a long. */
  readIntWords(): void {
    this.low = this.readInt();
    this.high = this.low >> 31;
  }

  /** The last long as a double: the nearest one where it is beyond 2^53. */
  get number(): number {
    return this.high * 4_294_967_296 + (this.low >>> 0);
  }

  /** The length of bytes or text that follow and are there. */
  readSize(): number {
    const { at } = this;
    if (at < this.end) {
      const first = this.bytes[at];
      if ((first & 0x81) === 0) {
        const size = first >>> 1;
        if (size < this.end - at) {
          this.at = at + 1;
          return size;
        }
      }
    }
    return this.readLongerSize();
  }

  /**
   * The count of a block of items, 0 at the end of them all; sets `blockEnd`. `least` is the least bytes of an item,
   * `slots` how many rows of columns it fills: so that a count cannot make more of a value than its bytes are worth.
   */
  readBlock(least: number, slots: number): number {
    const first = this.at;
    this.readLong();
    let count = this.number;
    this.blockEnd = -1;
    if (count < 0) {
      count = -count;
      this.blockEnd = this.readSize();
      this.blockEnd += this.at;
    }
    if (count * least > this.end - this.at) {
      const left = this.end - this.at;
      this.at = first;
      this.fail('AVRO_DECODE', `a block of ${count} items does not fit the ${left} bytes that are left`);
    }
    this.slots -= count * slots;
    if (this.slots < 0) {
      this.at = first;
      this.fail('TOO_LARGE', `a block of ${count} items makes more of the value than its bytes are worth`);
    }
    return count;
  }

  /** After the items of a block: they must end where the block says it does. */
  checkBlockEnd(blockEnd: number): void {
    if (blockEnd >= 0 && this.at !== blockEnd)
      this.fail('AVRO_DECODE', `a block ends ${blockEnd - this.at} bytes from where it says`);
  }

  enter(): void {
    if (++this.depth > MAX_DEPTH) this.fail('TOO_DEEP', `records are nested deeper than ${MAX_DEPTH}`);
  }

  leave(): void {
    this.depth--;
  }

  private readLongerInt(): number {
    const { bytes, end } = this;
    let { at } = this;
    let raw = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      if (at >= end) this.cutOff();
      const byte = bytes[at++];
      raw |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (shift === 28 && byte > 0x0f) break;
        this.at = at;
        return (raw >>> 1) ^ -(raw & 1);
      }
    }
    return this.fail('AVRO_DECODE', 'an int is longer than 32 bits');
  }

  private readLongerLong(first: number, from: number): void {
    const { bytes, end } = this;
    let at = from;
    let middle = 0;
    let last = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= end) this.cutOff();
      const byte = bytes[at++];
      if (shift < 28) middle |= (byte & 0x7f) << shift;
      else last |= (byte & 0x7f) << (shift - 28);
      if (byte < 0x80) {
        if (shift === 35 && byte > 1) this.tooLong();
        break;
      }
      if (shift === 35) this.tooLong();
    }
    const low = first | (middle << 28);
    const high = (middle >>> 4) | (last << 24);
    const sign = -(low & 1);
    this.low = ((low >>> 1) | (high << 31)) ^ sign;
    this.high = (high >>> 1) ^ sign;
    this.at = at;
  }

  private readLongerSize(): number {
    const first = this.at;
    this.readLong();
    const size = this.number;
    const left = this.end - this.at;
    if (size >= 0 && size <= left) return size;
    this.at = first;
    if (size < 0) return this.fail('AVRO_DECODE', `a length is negative (${size})`);
    return this.fail('AVRO_DECODE', `a length of ${size} is beyond the ${left} bytes that are left`);
  }

  private cutOff(): never {
    return this.fail('AVRO_DECODE', 'the value is cut off: a number has no end');
  }

  private tooLong(): never {
    return this.fail('AVRO_DECODE', 'a long is longer than 64 bits');
  }
}
