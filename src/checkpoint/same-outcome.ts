import { stringifyJson64 } from '../core/json64.ts';
import type { DoneBatch } from './records.ts';

/**
 * Do two records of a batch tell of the same commits and counts? What a reader of the table fills in afterwards (the
 * sequence number) may differ: an earlier process may not have learnt it.
 */
export function sameOutcome(a: DoneBatch, b: DoneBatch): boolean {
  return stringifyJson64(essence(a)) === stringifyJson64(essence(b));
}

function essence(batch: DoneBatch): unknown {
  return {
    batchId: batch.batchId,
    tables: batch.tables
      .map((t) => [t.table, t.uuid, t.ref, t.role, t.commitId, t.snapshotId, t.rows])
      .sort((x, y) => (String(x[0]) < String(y[0]) ? -1 : 1)),
    funnel: batch.funnel.map((f) => [
      f.topic,
      f.table,
      f.partition,
      f.from,
      f.until,
      f.rows,
      f.quarantined,
      f.dropped,
      f.control,
      f.aborted,
      f.holes,
    ]),
    lost: batch.lost.map((l) => [l.topic, l.topicId, l.partition, l.from, l.until]),
  };
}
