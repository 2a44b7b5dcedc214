import { bitWidthOf, RunLengthEncoder } from './run-length-encoder.ts';

/** Above these a column of constants goes on as PLAIN pages. */
const MAX_ENTRIES = 4096;
const MAX_BYTES = 64 * 1024;
/** Runs of one page; more would make a page of scattered constants longer than PLAIN. */
const MAX_RUNS = 4096;

/**
 * The dictionary of a column chunk that is filled by constants: each is stored once, the rows are runs of its index.
 * Entries live for one row group, runs for one page.
 */
export class ConstantDictionary {
  /** Entries in PLAIN form, by their latin1 text. */
  private readonly indexOf = new Map<string, number>();
  private readonly plain: Uint8Array[] = [];
  plainBytes = 0;
  private readonly runIndices: number[] = [];
  private readonly runLengths: number[] = [];
  private lastEntry: Uint8Array | undefined;
  private lastIndex = -1;

  get size(): number {
    return this.plain.length;
  }

  get hasRoomForRun(): boolean {
    return this.runIndices.length < MAX_RUNS;
  }

  /** Memory held, roughly: an entry is kept twice. */
  get heldBytes(): number {
    return this.plainBytes * 3 + this.plain.length * 100 + this.runIndices.length * 16;
  }

  /** The index of an entry, which is taken in when it is new; -1 where the dictionary is full. */
  index(plain: Uint8Array): number {
    if (plain === this.lastEntry) return this.lastIndex;
    const text = Buffer.from(plain.buffer, plain.byteOffset, plain.length).toString('latin1');
    let index = this.indexOf.get(text);
    if (index === undefined) {
      if (this.plain.length >= MAX_ENTRIES || this.plainBytes + plain.length > MAX_BYTES) return -1;
      index = this.plain.length;
      this.indexOf.set(text, index);
      this.plain.push(plain);
      this.plainBytes += plain.length;
    }
    this.lastEntry = plain;
    this.lastIndex = index;
    return index;
  }

  appendRun(index: number, count: number): void {
    const last = this.runIndices.length - 1;
    if (last >= 0 && this.runIndices[last] === index) this.runLengths[last] += count;
    else {
      this.runIndices.push(index);
      this.runLengths.push(count);
    }
  }

  /** The values section of the open page (bit width, then runs); the next page begins without runs. */
  finishPage(): Uint8Array {
    // readers differ in how they take a width of 0: one bit is understood by all
    const bitWidth = Math.max(1, bitWidthOf(this.plain.length - 1));
    const encoder = new RunLengthEncoder(bitWidth);
    for (let i = 0; i < this.runIndices.length; i++) encoder.append(this.runIndices[i], this.runLengths[i]);
    const runs = encoder.finish();
    const bytes = new Uint8Array(1 + runs.length);
    bytes[0] = bitWidth;
    bytes.set(runs, 1);
    this.runIndices.length = 0;
    this.runLengths.length = 0;
    return bytes;
  }

  /** The dictionary page's content: the entries one behind the other. */
  plainEntries(): Uint8Array {
    return Buffer.concat(this.plain);
  }

  clear(): void {
    this.indexOf.clear();
    this.plain.length = 0;
    this.plainBytes = 0;
    this.runIndices.length = 0;
    this.runLengths.length = 0;
    this.lastEntry = undefined;
    this.lastIndex = -1;
  }
}
