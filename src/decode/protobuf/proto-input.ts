import type { ReasonCode } from '../reasons.ts';

/**
 * What is wrong with one record. Thrown by the steps; those that hold others put their names before the path on its way
 * up. No Error: a stack would cost more than the record.
 */
export class ProtoFault {
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

/** Puts a name before the path of a fault; anything else is given back as it is. */
export function within(e: unknown, name: string): unknown {
  if (e instanceof ProtoFault) e.within(name);
  return e;
}

/** Rows of columns within lists and maps that one value may fill: some for any, and so many for each of its bytes. */
const SLOTS_PER_VALUE = 65_536;
const SLOTS_PER_BYTE = 16;
/** Groups within groups that are moved over. */
const MAX_GROUPS = 100;

/**
 * The bytes of one value and the position in them, reused from record to record. Reads are checked against `end`; what is
 * no message throws ProtoFault.
 */
export class ProtoInput {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  at = 0;
  end = 0;
  /** The words of the last integer read. */
  low = 0;
  high = 0;
  /** Whether each text is proven UTF-8 where it is read; else the columns are proven as a whole at the end of the block. */
  checksText = false;
  /** What `checksText` is where a value begins. */
  checksAllTexts = false;
  /** Of the value that is read: fields that no column takes, and those of them that the schema has. */
  unknownFields = 0;
  passedFields = 0;
  /** Of the value that is read: map keys that came again. */
  duplicateKeys = 0;
  private block: Uint8Array = this.bytes;
  private blockView: DataView = this.view;
  private start = 0;
  private slots = 0;
  private isAside = false;

  /** The bytes of the values that come; `open` chooses one. */
  attach(bytes: Uint8Array): void {
    if (this.block === bytes) return;
    this.block = bytes;
    this.blockView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes to the value at [start, end). */
  open(start: number, end: number): void {
    // A fault may have left the bytes of `readAside`.
    this.bytes = this.block;
    this.view = this.blockView;
    this.checksText = this.checksAllTexts;
    this.start = start;
    this.at = start;
    this.end = end;
    this.unknownFields = 0;
    this.passedFields = 0;
    this.duplicateKeys = 0;
    this.isAside = false;
    this.slots = SLOTS_PER_VALUE + SLOTS_PER_BYTE * (end - start);
  }

  /** The block's bytes, whatever is read aside. */
  valueAt(start: number, end: number): Uint8Array {
    return this.block.subarray(start, end);
  }

  fail(reason: ReasonCode, message: string): never {
    const place = this.isAside
      ? 'in a value that stands in parts or is a default'
      : `at byte ${this.at - this.start}`;
    throw new ProtoFault(reason, `${message}, ${place}`);
  }

  /** Lets a step read other bytes as if they stood here. After a fault nothing is put back: `open` does. */
  readAside(
    bytes: Uint8Array,
    view: DataView,
    length: number,
    step: { read(input: ProtoInput): void },
  ): void {
    const { bytes: own, view: ownView, at, end, isAside } = this;
    this.bytes = bytes;
    this.view = view;
    this.at = 0;
    this.end = length;
    this.isAside = true;
    step.read(this);
    this.bytes = own;
    this.view = ownView;
    this.at = at;
    this.end = end;
    this.isAside = isAside;
  }

  /** Each element of a list or entry of a map takes what its columns need, so that few bytes do not make many rows. */
  takeSlots(count: number): void {
    this.slots -= count;
    if (this.slots < 0)
      this.fail('TOO_LARGE', 'lists and maps make more of the value than its bytes are worth');
  }

  /** Moves over `size` bytes and says where they begin. */
  take(size: number): number {
    const { at } = this;
    if (size > this.end - at)
      this.fail('PROTOBUF_DECODE', `${size} bytes are needed and ${this.end - at} are left`);
    this.at = at + size;
    return at;
  }

  /** Field number times eight plus wire type. */
  readTag(): number {
    const first = this.at;
    let tag: number;
    if (first < this.end && this.bytes[first] < 0x80) {
      tag = this.bytes[first];
      this.at = first + 1;
    } else {
      this.readVarint();
      if (this.high !== 0) {
        this.at = first;
        this.fail('PROTOBUF_DECODE', 'a tag is longer than 32 bits');
      }
      tag = this.low >>> 0;
    }
    if (tag < 8) {
      this.at = first;
      this.fail('PROTOBUF_DECODE', 'a field has the number 0');
    }
    return tag;
  }

  /** A varint of 64 bits into `low` and `high`. */
  readVarint(): void {
    const { bytes, end } = this;
    let { at } = this;
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      if (at >= end) this.cutOff();
      const byte = bytes[at++];
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.low = low;
        this.high = 0;
        this.at = at;
        return;
      }
    }
    this.readLongVarint(low, at);
  }

  /** The length of bytes that follow and are there. */
  readSize(): number {
    const first = this.at;
    if (first < this.end) {
      const size = this.bytes[first];
      if (size < 0x80 && size < this.end - first) {
        this.at = first + 1;
        return size;
      }
    }
    this.readVarint();
    const left = this.end - this.at;
    const size = (this.high >>> 0) * 4_294_967_296 + (this.low >>> 0);
    if (size <= left) return size;
    this.at = first;
    return this.fail('PROTOBUF_DECODE', `a length of ${size} is beyond the ${left} bytes that are left`);
  }

  /** Moves over the value of a field whose tag was read. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.readVarint();
        return;
      case 1:
        this.take(8);
        return;
      case 2: {
        const size = this.readSize();
        this.at += size;
        return;
      }
      case 3:
        this.skipGroup(tag >>> 3);
        return;
      case 5:
        this.take(4);
        return;
      case 4:
        this.fail('PROTOBUF_DECODE', `field ${tag >>> 3} ends a group that was not begun`);
        break;
      default:
        this.fail('PROTOBUF_DECODE', `field ${tag >>> 3} has the wire type ${tag & 7}, which there is not`);
    }
  }

  /** Moves over everything up to the end tag of a group, groups within it included. */
  private skipGroup(number: number): void {
    const open = [number];
    while (open.length > 0) {
      const tag = this.readTag();
      if ((tag & 7) === 3) {
        if (open.length === MAX_GROUPS) this.fail('TOO_DEEP', `groups are nested deeper than ${MAX_GROUPS}`);
        open.push(tag >>> 3);
      } else if ((tag & 7) === 4) {
        if (open.pop() !== tag >>> 3)
          this.fail('PROTOBUF_DECODE', `field ${tag >>> 3} ends a group that another began`);
      } else this.skip(tag);
    }
  }

  private readLongVarint(first: number, from: number): void {
    const { bytes, end } = this;
    let at = from;
    let middle = 0;
    let last = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= end) this.cutOff();
      const byte = bytes[at++];
      if (shift < 28) middle |= (byte & 0x7f) << shift;
      else last |= (byte & 0x7f) << (shift - 28);
      // The tenth byte has the last of 64 bits.
      if (byte < 0x80) {
        if (shift === 35 && byte > 1) this.tooLong();
        break;
      }
      if (shift === 35) this.tooLong();
    }
    this.low = first | (middle << 28);
    this.high = (middle >>> 4) | (last << 24);
    this.at = at;
  }

  private cutOff(): never {
    return this.fail('PROTOBUF_DECODE', 'the value is cut off: a number has no end');
  }

  private tooLong(): never {
    return this.fail('PROTOBUF_DECODE', 'a number is longer than 64 bits');
  }
}
