import { columnBytes } from '../../columns/column-bytes.ts';
import { copyRow, emptyLike } from '../../columns/copy-row.ts';
import { copyRows } from '../../columns/copy-rows.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { GrowingColumn } from '../../columns/growing-column.ts';
import { RecordColumns } from '../../columns/record-columns.ts';
import type { ColumnSource } from '../column-source.ts';
import type { PartitionRun } from './partitioner.ts';
import { RowBlock } from './row-block.ts';

/** Who has put rows into a spill, and which of their columns it needs. */
export interface SpillOwner {
  readonly raw: RawColumns;
}

/** The rows of one owner's partition in a spill, to be read by `forEachStretch`. */
export interface SpilledPartition<Owner extends SpillOwner = SpillOwner> {
  owner: Owner;
  /** Its `until` is of no meaning. */
  run: PartitionRun;
  /** Calls `take` with rows [from, until) of one block after another, in the order in which they came. */
  forEachStretch(take: (block: RowBlock, from: number, until: number) => void): void;
}

/** About the size of a block's largest buffer: growing further would leave as much again to the garbage collector. */
const BLOCK_BYTES = 1024 * 1024;
/** Left for the last value, so that as a rule it does not make the buffer grow. */
const ROOM_BYTES = 16 * 1024;

interface SpilledBlock {
  block: RowBlock;
  /** Of its columns. */
  layout: string;
  /** The partition of each row: an index into the list of runs. */
  partitionOf: Int32Array;
}

/**
 * Copies of rows that wait for their partition's file: blocks per topic-partition, and the partition of each row. Tables
 * of the same columns share the blocks, so that hundreds of them with a few rows each take what the rows take.
 */
export class Spill<Owner extends SpillOwner = SpillOwner> {
  rows = 0;
  private blocks: SpilledBlock[] = [];
  /** Taken, and not written yet. */
  private taken: SpilledBlock[] = [];
  /** Written, to be filled again: buffers of megabytes that are given up stay for long until they are collected. */
  private idle: SpilledBlock[] = [];
  /** The block of each topic-partition that takes its rows. */
  private current = new Map<string, SpilledBlock>();
  private runs: { owner: Owner; run: PartitionRun }[] = [];
  private indexOf = new Map<Owner, Map<string, number>>();

  /** Memory that rows take, room to grow included. */
  get bytes(): number {
    return this.blocks.reduce((sum, spilled) => sum + bytesOf(spilled), 0);
  }

  /** Memory that is kept for further rows. */
  get idleBytes(): number {
    return this.idle.reduce((sum, spilled) => sum + bytesOf(spilled), 0);
  }

  /** Copies rows [from, run.until) of a block, which belong to one partition and share dt and hour. */
  add(owner: Owner, block: RowBlock, from: number, run: PartitionRun): void {
    const index = this.indexOfRun(owner, run);
    const spilled = this.blockFor(block, owner.raw);
    const at = spilled.block.columns.length;
    const end = at + run.until - from;
    if (end > spilled.partitionOf.length) {
      const grown = new Int32Array(Math.max(end, spilled.partitionOf.length * 2));
      grown.set(spilled.partitionOf.subarray(0, at));
      spilled.partitionOf = grown;
    }
    spilled.partitionOf.fill(index, at, end);
    for (let row = from; row < run.until; row++) copyBlockRow(block, row, spilled.block, owner.raw);
    this.rows += run.until - from;
  }

  /**
   * Everything, by partition in the order of their keys, also where they are of several owners. The spill is empty
   * afterwards. What is returned is good until `recycle`.
   */
  take(): SpilledPartition<Owner>[] {
    const { runs } = this;
    const sorted = this.blocks.map(({ block, partitionOf }) =>
      sortByPartition(block, partitionOf, runs.length),
    );
    this.taken = this.blocks;
    this.blocks = [];
    this.current = new Map();
    this.runs = [];
    this.indexOf = new Map();
    this.rows = 0;
    return runs
      .map(({ owner, run }, index) => ({
        owner,
        run,
        forEachStretch: (take: (block: RowBlock, from: number, until: number) => void) => {
          for (const { block, rows, starts } of sorted)
            eachStretch(rows, starts[index], starts[index + 1], (from, until) => take(block, from, until));
        },
      }))
      .sort((a, b) => (a.run.key < b.run.key ? -1 : a.run.key > b.run.key ? 1 : 0));
  }

  /** What was taken is written: its memory may take other rows. */
  recycle(): void {
    for (const { block } of this.taken) clearBlock(block);
    this.idle.push(...this.taken);
    this.taken = [];
  }

  /** Gives up as much of what is kept for further rows as it takes to free `bytes`. */
  dropIdle(bytes: number): void {
    for (let left = bytes; left > 0 && this.idle.length > 0; ) left -= bytesOf(this.idle.shift()!);
  }

  /** Runs of one partition that differ in dt or hour (where the table is not partitioned by them) are kept apart. */
  private indexOfRun(owner: Owner, run: PartitionRun): number {
    let mine = this.indexOf.get(owner);
    if (mine === undefined) {
      mine = new Map();
      this.indexOf.set(owner, mine);
    }
    const name = `${run.key}\u0000${run.dt}\u0000${run.hour}`;
    let index = mine.get(name);
    if (index === undefined) {
      index = this.runs.length;
      this.runs.push({ owner, run: { ...run } });
      mine.set(name, index);
    }
    return index;
  }

  private blockFor(source: RowBlock, { keys, values, headers }: RawColumns): SpilledBlock {
    const layout = `${layoutOf(source.decoded.value)}/${layoutOf(source.decoded.key)}/${keys}${values}${headers}`;
    const key = `${source.topic}\u0000${source.partition}\u0000${layout}`;
    const current = this.current.get(key);
    if (current !== undefined && !isFull(current.block)) return current;
    const spilled = this.reused(source, layout) ?? newBlock(source, layout, current);
    this.blocks.push(spilled);
    this.current.set(key, spilled);
    return spilled;
  }

  private reused(source: RowBlock, layout: string): SpilledBlock | undefined {
    const at = this.idle.findLastIndex((spilled) => spilled.layout === layout);
    if (at < 0) return undefined;
    const [spilled] = this.idle.splice(at, 1);
    takePlace(source, spilled.block);
    return spilled;
  }
}

/** After one that is full comes one of its size: growing step by step would leave as much again to the garbage collector. */
function newBlock(source: RowBlock, layout: string, full: SpilledBlock | undefined): SpilledBlock {
  const block = emptyBlockLike(source);
  if (full !== undefined) {
    const { columns, timestampsMicros } = full.block;
    const { length } = columns;
    block.columns.reserveRows(length);
    block.timestampsMicros.reserve(timestampsMicros.length);
    for (const name of ['keys', 'values', 'headers'] as const)
      block.columns[name].reserve(length, Math.min(BLOCK_BYTES, columns[name].end + ROOM_BYTES));
  }
  return { block, layout, partitionOf: new Int32Array(full?.partitionOf.length ?? 256) };
}

/** A block for rows of another, with none yet. */
export function emptyBlockLike(source: RowBlock): RowBlock {
  const block = new RowBlock();
  block.columns = new RecordColumns();
  takePlace(source, block);
  block.decoded = {
    value: source.decoded.value.map(emptyLike),
    key: source.decoded.key.map(emptyLike),
  };
  return block;
}

/** Forgets the rows of a block; its memory stays. */
export function clearBlock(block: RowBlock): void {
  block.columns.clear();
  block.timestampsMicros.clear();
  for (const column of block.decoded.value) column.clear();
  for (const column of block.decoded.key) column.clear();
}

function takePlace(source: RowBlock, block: RowBlock): void {
  block.topic = source.topic;
  block.topicId = source.topicId;
  block.partition = source.partition;
}

function bytesOf({ block, partitionOf }: SpilledBlock): number {
  const { columns } = block;
  let bytes = partitionOf.byteLength;
  for (const column of [columns.values, columns.keys, columns.headers])
    bytes += column.data.byteLength + column.starts.byteLength;
  for (const column of [columns.offsets, columns.timestampsMs, block.timestampsMicros])
    bytes += column.words.byteLength + column.nulls.byteLength;
  for (const column of [...block.decoded.value, ...block.decoded.key]) bytes += columnBytes(column);
  return bytes;
}

function isFull(block: RowBlock): boolean {
  const { values, keys, headers, length } = block.columns;
  let largest = Math.max(values.end, keys.end, headers.end, length * 8);
  for (const columns of [block.decoded.value, block.decoded.key])
    for (const column of columns) if (column.kind === 'bytes' && column.end > largest) largest = column.end;
  return largest >= BLOCK_BYTES - ROOM_BYTES;
}

/** Of the columns of a decoder, which live as long as it does. */
const layouts = new WeakMap<readonly TypedColumn[], string>();

/** A text that is equal for columns of the same kinds, whose rows can be copied from one to the other. */
function layoutOf(columns: readonly TypedColumn[]): string {
  let layout = layouts.get(columns);
  if (layout === undefined) {
    layout = columns.map(kindText).join();
    layouts.set(columns, layout);
  }
  return layout;
}

function kindText(column: GrowingColumn): string {
  switch (column.kind) {
    case 'fixed':
      return `fixed${column.width}`;
    case 'struct':
      return `{${column.fields.map((f) => kindText(f as GrowingColumn)).join()}}`;
    case 'list':
      return `[${kindText(column.element as GrowingColumn)}]`;
    case 'map':
      return `<${kindText(column.key as GrowingColumn)},${kindText(column.value as GrowingColumn)}>`;
    default:
      return column.kind;
  }
}

/** A counting sort: rows[starts[p], starts[p + 1]) are the rows of partition p, ascending. */
function sortByPartition(
  block: RowBlock,
  partitionOf: Int32Array,
  partitions: number,
): { block: RowBlock; rows: Int32Array; starts: Int32Array } {
  const count = block.columns.length;
  const starts = new Int32Array(partitions + 1);
  for (let row = 0; row < count; row++) starts[partitionOf[row] + 1]++;
  for (let p = 0; p < partitions; p++) starts[p + 1] += starts[p];
  const next = starts.slice();
  const rows = new Int32Array(count);
  for (let row = 0; row < count; row++) rows[next[partitionOf[row]]++] = row;
  return { block, rows, starts };
}

/** Rows that follow each other are handed on together. */
function eachStretch(
  rows: Int32Array,
  start: number,
  end: number,
  take: (from: number, until: number) => void,
): void {
  for (let i = start; i < end; ) {
    const from = rows[i];
    let until = from + 1;
    for (i++; i < end && rows[i] === until; i++) until++;
    take(from, until);
  }
}

/** Which columns of bytes a table needs beside those that are decoded: the others are not copied. */
export interface RawColumns {
  keys: boolean;
  values: boolean;
  headers: boolean;
}

export const ALL_RAW: RawColumns = { keys: true, values: true, headers: true };

/** Of a table, by what its columns are filled with and by what its partitions are made of: both are sources. */
export function rawColumnsOf(sources: readonly ColumnSource[]): RawColumns {
  return {
    keys: sources.includes('key'),
    values: sources.includes('value'),
    headers: sources.includes('headers'),
  };
}

/** Appends a row of a block, all of its columns that a table needs, to another of the same kind: of its times those in micros. */
export function copyBlockRow(from: RowBlock, row: number, to: RowBlock, raw: RawColumns): void {
  copyRow(from.columns.offsets, row, to.columns.offsets);
  if (raw.keys) copyRow(from.columns.keys, row, to.columns.keys);
  if (raw.values) copyRow(from.columns.values, row, to.columns.values);
  if (raw.headers) copyRow(from.columns.headers, row, to.columns.headers);
  copyRow(from.timestampsMicros, row, to.timestampsMicros);
  copyDecoded(from.decoded.value, row, to.decoded.value);
  copyDecoded(from.decoded.key, row, to.decoded.key);
}

/** Appends rows `rows[from, until)` of a block, ascending, all of their columns that a table needs, to another of the same kind. */
export function copyBlockRows(
  source: RowBlock,
  rows: Int32Array,
  from: number,
  until: number,
  to: RowBlock,
  raw: RawColumns,
): void {
  const { columns, decoded } = source;
  copyRows(columns.offsets, rows, from, until, to.columns.offsets);
  if (raw.keys) copyRows(columns.keys, rows, from, until, to.columns.keys);
  if (raw.values) copyRows(columns.values, rows, from, until, to.columns.values);
  if (raw.headers) copyRows(columns.headers, rows, from, until, to.columns.headers);
  copyRows(source.timestampsMicros, rows, from, until, to.timestampsMicros);
  for (let i = 0; i < decoded.value.length; i++)
    copyRows(decoded.value[i], rows, from, until, to.decoded.value[i]);
  for (let i = 0; i < decoded.key.length; i++) copyRows(decoded.key[i], rows, from, until, to.decoded.key[i]);
}

function copyDecoded(from: readonly TypedColumn[], row: number, to: readonly TypedColumn[]): void {
  for (let i = 0; i < from.length; i++) copyRow(from[i], row, to[i]);
}
