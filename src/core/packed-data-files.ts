import type { DataFile, DataFiles, PartitionValue } from './data-file.ts';
import { PackedBytesReader, PackedBytesWriter } from './packed-bytes.ts';

/** A block is ended at this size: what grows is never large. */
const BLOCK_BYTES = 64 * 1024;
const FIRST_BYTES = 1024;

const CONTENTS = [0, 1, 2] as const;
const FORMATS = ['PARQUET', 'AVRO', 'ORC', 'PUFFIN'] as const;

/** Bits for the fields that a file may lack, in the order in which they follow. */
const OPTIONAL = {
  sortOrderId: 1,
  equalityIds: 2,
  keyMetadata: 4,
  referencedDataFile: 8,
  contentOffset: 16,
  contentSizeInBytes: 32,
  firstRowId: 64,
} as const;

/** As it crosses from one thread to another. */
export interface PlainDataFiles {
  /** Each can be read by itself, and has a buffer of its own, which may be handed over. */
  blocks: Uint8Array[];
  length: number;
  rows: bigint;
  fileBytes: bigint;
}

/**
 * Data files as bytes: a batch may make tens of thousands, and as objects and maps each takes ten kilobytes of heap, as
 * bytes a few hundred. A file is made anew whenever it is asked for.
 */
export class PackedDataFiles implements DataFiles {
  readonly #blocks: Uint8Array[];
  #open: BlockWriter | undefined;
  #length: number;
  #rows: bigint;
  #fileBytes: bigint;

  constructor(plain: PlainDataFiles = { blocks: [], length: 0, rows: 0n, fileBytes: 0n }) {
    this.#blocks = [...plain.blocks];
    this.#length = plain.length;
    this.#rows = plain.rows;
    this.#fileBytes = plain.fileBytes;
  }

  static of(files: Iterable<DataFile>): PackedDataFiles {
    const packed = new PackedDataFiles();
    for (const file of files) packed.add(file);
    return packed;
  }

  get length(): number {
    return this.#length;
  }

  /** Of all files together. */
  get rows(): bigint {
    return this.#rows;
  }

  get fileBytes(): bigint {
    return this.#fileBytes;
  }

  /** Memory held. */
  get heldBytes(): number {
    return this.#blocks.reduce((sum, block) => sum + block.length, this.#open?.capacityBytes ?? 0);
  }

  add(file: DataFile): void {
    this.#open ??= new BlockWriter();
    this.#open.add(file);
    if (this.#open.length >= BLOCK_BYTES) this.#endBlock();
    this.#length++;
    this.#rows += file.recordCount;
    this.#fileBytes += file.fileSizeInBytes;
  }

  /** Takes over the files of another list, behind its own. */
  addAll(other: PackedDataFiles): void {
    this.#endBlock();
    const { blocks, length, rows, fileBytes } = other.toPlain();
    this.#blocks.push(...blocks);
    this.#length += length;
    this.#rows += rows;
    this.#fileBytes += fileBytes;
  }

  /** The list itself, not a copy: once its buffers are handed over it is of no use any more. */
  toPlain(): PlainDataFiles {
    this.#endBlock();
    return { blocks: this.#blocks, length: this.#length, rows: this.#rows, fileBytes: this.#fileBytes };
  }

  *[Symbol.iterator](): Generator<DataFile> {
    for (const block of this.#blocks) yield* filesOf(block);
    if (this.#open !== undefined) yield* filesOf(this.#open.copy());
  }

  #endBlock(): void {
    if (this.#open === undefined) return;
    this.#blocks.push(this.#open.copy());
    this.#open = undefined;
  }
}

/** Rows and bytes of files together. */
export function totalsOfFiles(files: DataFiles): { rows: bigint; fileBytes: bigint } {
  if (files instanceof PackedDataFiles) return files;
  let rows = 0n;
  let fileBytes = 0n;
  for (const file of files) {
    rows += file.recordCount;
    fileBytes += file.fileSizeInBytes;
  }
  return { rows, fileBytes };
}

/** Files one behind the other. The paths of one batch have most of their characters in common with the one before. */
class BlockWriter extends PackedBytesWriter {
  #path = '';

  constructor() {
    super(FIRST_BYTES);
  }

  add(file: DataFile): void {
    this.byte(file.content);
    this.byte(FORMATS.indexOf(file.fileFormat));
    const shared = sharedLength(this.#path, file.filePath);
    this.#path = file.filePath;
    this.count(shared);
    this.text(file.filePath.slice(shared));
    this.count(file.partition.length);
    for (const value of file.partition) this.#partitionValue(value);
    this.integer(file.specId);
    this.bigint(file.recordCount);
    this.bigint(file.fileSizeInBytes);
    for (const counts of [file.columnSizes, file.valueCounts, file.nullValueCounts, file.nanValueCounts])
      this.#byId(counts, (value) => this.bigint(value));
    for (const bounds of [file.lowerBounds, file.upperBounds])
      this.#byId(bounds, (value) => this.bytes(value));
    this.count(file.splitOffsets.length);
    for (const offset of file.splitOffsets) this.bigint(offset);
    this.#optional(file);
  }

  #optional(file: DataFile): void {
    let present = 0;
    for (const [name, bit] of Object.entries(OPTIONAL))
      if (file[name as keyof typeof OPTIONAL] !== undefined) present |= bit;
    this.byte(present);
    if (file.sortOrderId !== undefined) this.integer(file.sortOrderId);
    if (file.equalityIds !== undefined) {
      this.count(file.equalityIds.length);
      for (const id of file.equalityIds) this.integer(id);
    }
    if (file.keyMetadata !== undefined) this.bytes(file.keyMetadata);
    if (file.referencedDataFile !== undefined) this.text(file.referencedDataFile);
    if (file.contentOffset !== undefined) this.bigint(file.contentOffset);
    if (file.contentSizeInBytes !== undefined) this.bigint(file.contentSizeInBytes);
    if (file.firstRowId !== undefined) this.bigint(file.firstRowId);
  }

  #byId<T>(map: ReadonlyMap<number, T>, write: (value: T) => void): void {
    this.count(map.size);
    for (const [id, value] of map) {
      this.integer(id);
      write(value);
    }
  }

  #partitionValue(value: PartitionValue): void {
    if (value === null) this.byte(0);
    else if (typeof value === 'boolean') this.byte(value ? 2 : 1);
    else if (typeof value === 'number') {
      this.byte(3);
      this.double(value);
    } else if (typeof value === 'bigint') {
      this.byte(4);
      this.bigint(value);
    } else if (typeof value === 'string') {
      this.byte(5);
      this.text(value);
    } else {
      this.byte(6);
      this.bytes(value);
    }
  }
}

/** Never in the midst of a pair of surrogates: what is cut off could not be said in UTF-8. */
function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length > 0 && (a.charCodeAt(length - 1) & 0xfc00) === 0xd800 ? length - 1 : length;
}

function* filesOf(block: Uint8Array): Generator<DataFile> {
  const reader = new BlockReader(block);
  while (!reader.isAtEnd) yield reader.next();
}

class BlockReader extends PackedBytesReader {
  #path = '';

  next(): DataFile {
    const content = CONTENTS[this.byte()];
    const fileFormat = FORMATS[this.byte()];
    const shared = this.count();
    this.#path = this.#path.slice(0, shared) + this.text();
    const long = (): bigint => this.bigint();
    const bound = (): Uint8Array => this.bytes();
    const file: DataFile = {
      content,
      filePath: this.#path,
      fileFormat,
      partition: this.#list(() => this.#partitionValue()),
      specId: this.integer(),
      recordCount: this.bigint(),
      fileSizeInBytes: this.bigint(),
      columnSizes: this.#byId(long),
      valueCounts: this.#byId(long),
      nullValueCounts: this.#byId(long),
      nanValueCounts: this.#byId(long),
      lowerBounds: this.#byId(bound),
      upperBounds: this.#byId(bound),
      splitOffsets: this.#list(long),
    };
    this.#optional(file);
    return file;
  }

  #optional(file: DataFile): void {
    const present = this.byte();
    if ((present & OPTIONAL.sortOrderId) !== 0) file.sortOrderId = this.integer();
    if ((present & OPTIONAL.equalityIds) !== 0) file.equalityIds = this.#list(() => this.integer());
    if ((present & OPTIONAL.keyMetadata) !== 0) file.keyMetadata = this.bytes();
    if ((present & OPTIONAL.referencedDataFile) !== 0) file.referencedDataFile = this.text();
    if ((present & OPTIONAL.contentOffset) !== 0) file.contentOffset = this.bigint();
    if ((present & OPTIONAL.contentSizeInBytes) !== 0) file.contentSizeInBytes = this.bigint();
    if ((present & OPTIONAL.firstRowId) !== 0) file.firstRowId = this.bigint();
  }

  #list<T>(read: () => T): T[] {
    return Array.from({ length: this.count() }, read);
  }

  #byId<T>(read: () => T): Map<number, T> {
    const map = new Map<number, T>();
    for (let left = this.count(); left > 0; left--) map.set(this.integer(), read());
    return map;
  }

  #partitionValue(): PartitionValue {
    switch (this.byte()) {
      case 1:
        return false;
      case 2:
        return true;
      case 3:
        return this.double();
      case 4:
        return this.bigint();
      case 5:
        return this.text();
      case 6:
        return this.bytes();
      default:
        return null;
    }
  }
}
