import type { RowBlock } from './row-block.ts';
import { clearBlock, copyBlockRows, emptyBlockLike, type RawColumns } from './spill.ts';

/**
 * Brings the rows of a block that go to one partition together, for blocks whose rows change their partition all the time:
 * a file takes a stretch of rows at hardly more cost than one. Reused from block to block.
 */
export class RowGather {
  private numbers = new Int32Array(1024);
  private order = new Int32Array(1024);
  private readonly counts = new Map<number, number>();
  private gathered: RowBlock | undefined;
  private readonly raw: RawColumns;

  constructor(raw: RawColumns) {
    this.raw = raw;
  }

  /** The number of each row's partition, to be filled for rows [from, until). */
  room(until: number): Int32Array {
    if (this.numbers.length < until) {
      this.numbers = new Int32Array(until * 2);
      this.order = new Int32Array(until * 2);
    }
    return this.numbers;
  }

  /** Would rows [from, until) fall into many short runs? */
  isFragmented(from: number, until: number): boolean {
    const { numbers } = this;
    let runs = 1;
    for (let row = from + 1; row < until; row++) if (numbers[row] !== numbers[row - 1]) runs++;
    return runs > 1 && runs * SHORT_RUN > until - from;
  }

  /** Calls `take` with the rows of one partition after another, in the order of the rows within each. */
  forEach(
    block: RowBlock,
    from: number,
    until: number,
    take: (number: number, gathered: RowBlock, rows: number) => void,
  ): void {
    const { numbers, order, counts } = this;
    counts.clear();
    for (let row = from; row < until; row++) counts.set(numbers[row], (counts.get(numbers[row]) ?? 0) + 1);
    let next = 0;
    const starts = new Map<number, number>();
    for (const [number, count] of counts) {
      starts.set(number, next);
      next += count;
    }
    for (let row = from; row < until; row++) {
      const at = starts.get(numbers[row])!;
      order[at] = row;
      starts.set(numbers[row], at + 1);
    }
    const gathered = this.blockLike(block);
    for (const [number, count] of counts) {
      clearBlock(gathered);
      const end = starts.get(number)!;
      copyBlockRows(block, order, end - count, end, gathered, this.raw);
      take(number, gathered, count);
    }
  }

  private blockLike(block: RowBlock): RowBlock {
    this.gathered ??= emptyBlockLike(block);
    this.gathered.topic = block.topic;
    this.gathered.topicId = block.topicId;
    this.gathered.partition = block.partition;
    return this.gathered;
  }
}

/** Runs of fewer rows on average are gathered: a run costs a file's writer about what it costs to copy so many rows. */
const SHORT_RUN = 64;
