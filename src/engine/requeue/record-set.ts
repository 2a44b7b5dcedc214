import type { RequeuedRecords } from '../../checkpoint/requeue-intents.ts';

/**
 * What makes a quarantined record that one and no other: its coordinate, and the pipeline and batch that set it aside. A
 * topic that was created anew has the same coordinates again, in later batches.
 */
export interface RecordKey {
  topic: string;
  partition: number;
  /** Null where the quarantine does not say. */
  pipeline: string | null;
  batchId: bigint | null;
}

/** A set of quarantined records, kept as runs of offsets: neighbours take no room of their own. */
export class RecordSet {
  private readonly groups = new Map<string, { key: RecordKey; offsets: OffsetSet }>();
  size = 0;

  /** False where it was there already. */
  add(key: RecordKey, offset: bigint): boolean {
    const added = this.offsets(key).add(offset);
    if (added) this.size++;
    return added;
  }

  has(key: RecordKey, offset: bigint): boolean {
    return this.groups.get(nameOf(key))?.offsets.has(offset) ?? false;
  }

  addAll(records: readonly RequeuedRecords[]): void {
    for (const { offsets, ...key } of records)
      for (const { from, until } of offsets)
        for (let offset = from; offset < until; offset++) this.add(key, offset);
  }

  /** The first record that both hold. */
  shared(other: RecordSet): { key: RecordKey; offset: bigint } | null {
    for (const [name, { key, offsets }] of this.groups) {
      const theirs = other.groups.get(name)?.offsets;
      if (theirs === undefined) continue;
      for (const { from, until } of offsets.runs()) {
        for (let offset = from; offset < until; offset++) if (theirs.has(offset)) return { key, offset };
      }
    }
    return null;
  }

  records(): RequeuedRecords[] {
    return [...this.groups.values()].map(({ key, offsets }) => ({ ...key, offsets: offsets.runs() }));
  }

  private offsets(key: RecordKey): OffsetSet {
    const name = nameOf(key);
    let group = this.groups.get(name);
    if (group === undefined) {
      const { topic, partition, pipeline, batchId } = key;
      group = { key: { topic, partition, pipeline, batchId }, offsets: new OffsetSet() };
      this.groups.set(name, group);
    }
    return group.offsets;
  }
}

export function recordSetOf(records: readonly RequeuedRecords[]): RecordSet {
  const set = new RecordSet();
  set.addAll(records);
  return set;
}

function nameOf({ topic, partition, pipeline, batchId }: RecordKey): string {
  return JSON.stringify([topic, partition, pipeline, batchId === null ? null : String(batchId)]);
}

interface Run {
  from: bigint;
  until: bigint;
}

/** Offsets as ascending, disjoint runs that do not touch. */
class OffsetSet {
  private readonly list: Run[] = [];

  /** False where it was there already. */
  add(offset: bigint): boolean {
    const at = this.firstEndingFrom(offset);
    const run = this.list[at];
    if (run !== undefined && run.from <= offset && offset < run.until) return false;
    const follows = run !== undefined && run.until === offset;
    const next = follows ? this.list[at + 1] : run;
    const precedes = next !== undefined && next.from === offset + 1n;
    if (follows && precedes) {
      run.until = next.until;
      this.list.splice(at + 1, 1);
    } else if (follows) run.until = offset + 1n;
    else if (precedes) next.from = offset;
    else this.list.splice(at, 0, { from: offset, until: offset + 1n });
    return true;
  }

  has(offset: bigint): boolean {
    // Ends are exclusive: the run that holds the offset ends beyond it.
    const run = this.list[this.firstEndingFrom(offset + 1n)];
    return run !== undefined && run.from <= offset;
  }

  runs(): Run[] {
    return this.list.map((run) => ({ ...run }));
  }

  /** The first run whose end is at the offset or beyond. */
  private firstEndingFrom(offset: bigint): number {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.list[middle].until < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
