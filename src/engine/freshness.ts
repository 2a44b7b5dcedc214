import type { OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import type { RangeResult } from './local/batch-task.ts';

/**
 * The freshness watermark of each table, `sluice.valid-through-ts` (spec 50): the smallest, over the partitions that
 * feed the table, of the greatest Kafka timestamp committed. A timestamp from the future is capped at now; a partition
 * that is read to its end and brought nothing counts as now. A partition of which nothing is known yet holds the
 * watermark back: the table then has none.
 */
export class Freshness {
  private readonly greatest = new Map<string, number>();

  /** `latest`: the newest offset per range, in the order of `ranges`; null where it is not known. `tables`: by topic. */
  after(
    ranges: readonly OffsetRange[],
    results: readonly RangeResult[],
    latest: readonly (bigint | null)[],
    tables: ReadonlyMap<string, readonly string[]>,
    nowMs: number,
  ): Map<string, number> {
    const watermarks = new Map<string, number>();
    const unknown = new Set<string>();
    ranges.forEach((range, i) => {
      const key = topicPartitionKey(range.topic, range.partition);
      const seen = results[i].maxTimestampMs;
      if (seen !== null)
        this.greatest.set(key, Math.min(Math.max(seen, this.greatest.get(key) ?? seen), nowMs));
      else if (range.from === range.until && latest[i] === range.until) this.greatest.set(key, nowMs);
      const value = this.greatest.get(key);
      for (const table of tables.get(range.topic) ?? []) {
        if (value === undefined) unknown.add(table);
        else watermarks.set(table, Math.min(value, watermarks.get(table) ?? value));
      }
    });
    for (const table of unknown) watermarks.delete(table);
    return watermarks;
  }
}
