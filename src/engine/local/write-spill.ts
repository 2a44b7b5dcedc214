import type { Spill, SpilledPartition, SpillOwner } from './spill.ts';

/** A writer whose rows may wait in a spill. */
export interface SpillWriter extends SpillOwner {
  writeSpilled(partitions: readonly SpilledPartition[]): Promise<void>;
}

/** Tables whose spilled rows are written at the same time: writing is mostly waiting for the storage. */
const TABLES_AT_ONCE = 4;

/** Writes everything that a spill holds, each row by the writer that put it there. All have ended when it throws. */
export async function writeSpill(spill: Spill<SpillWriter>): Promise<void> {
  if (spill.rows === 0) return;
  const byWriter = new Map<SpillWriter, SpilledPartition<SpillWriter>[]>();
  for (const partition of spill.take()) {
    const list = byWriter.get(partition.owner);
    if (list === undefined) byWriter.set(partition.owner, [partition]);
    else list.push(partition);
  }
  const waiting = [...byWriter];
  while (waiting.length > 0) {
    const some = waiting.splice(0, TABLES_AT_ONCE);
    const ended = await Promise.allSettled(some.map(([writer, list]) => writer.writeSpilled(list)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }
  spill.recycle();
}
