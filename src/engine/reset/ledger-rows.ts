import { decodeGaps } from '../../checkpoint/gap-text.ts';
import type { LedgerEntry } from '../../checkpoint/records.ts';

/** Offsets [from, until). */
export interface Stretch {
  from: bigint;
  until: bigint;
}

export interface RowsOf {
  topic: string;
  partition: number;
  /** Null where the incarnation is not known: then every entry of the name counts. */
  topicId: string | null;
  /** Where the query began in the partition; null where it is not known. */
  initial: bigint | null;
}

/**
 * The offsets of [from, until) that may stand in a table, by the ledger: those that were read and not dropped, and those
 * that another engine read, of which the ledger knows nothing. Never fewer than there are, so that what is left out
 * comes from the broker for the first time.
 */
export function offsetsInTables(ledger: readonly LedgerEntry[], of: RowsOf, asked: Stretch): Stretch[] {
  const named = ledger.filter((e) => e.topic === of.topic && e.partition === of.partition);
  const entries = named.filter((e) => e.topicId === of.topicId || e.topicId === null || of.topicId === null);
  const inTables: Stretch[] = [];
  for (const entry of entries)
    inTables.push(...subtract([clip(entry, asked)], [...decodeGaps(entry.gaps), ...entry.lost]));
  // What lies below the first offset of all was never read; what lies between entries another engine read.
  const began = entries.length === named.length ? of.initial : null;
  const first = entries.reduce(
    (min: bigint | null, e) => (min === null || e.from < min ? e.from : min),
    began,
  );
  const unknown: Stretch = { from: first ?? asked.from, until: asked.until };
  inTables.push(...subtract([clip(unknown, asked)], entries));
  return union(inTables);
}

export function countOffsets(stretches: readonly Stretch[]): bigint {
  return stretches.reduce((sum, s) => sum + (s.until - s.from), 0n);
}

function clip(stretch: Stretch, to: Stretch): Stretch {
  return {
    from: stretch.from > to.from ? stretch.from : to.from,
    until: stretch.until < to.until ? stretch.until : to.until,
  };
}

function subtract(stretches: readonly Stretch[], less: readonly Stretch[]): Stretch[] {
  let rest = stretches.filter((s) => s.until > s.from);
  for (const l of less) {
    rest = rest.flatMap((s) => {
      if (l.until <= s.from || l.from >= s.until || l.until <= l.from) return [s];
      const around = [
        { from: s.from, until: l.from },
        { from: l.until, until: s.until },
      ];
      return around.filter((part) => part.until > part.from);
    });
  }
  return rest;
}

function union(stretches: readonly Stretch[]): Stretch[] {
  const merged: Stretch[] = [];
  for (const s of [...stretches].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = merged[merged.length - 1];
    if (last !== undefined && s.from <= last.until) {
      if (s.until > last.until) last.until = s.until;
    } else merged.push({ ...s });
  }
  return merged;
}
