import { countOffsets } from '../engine/reset/ledger-rows.ts';
import { countLost, type PartitionMove } from '../engine/reset/partition-move.ts';
import type { ResetPreview } from '../engine/reset/reset-preview.ts';
import { type ResetRequest, resetCommand } from '../engine/reset/reset-request.ts';
import { count } from '../monitor/progress-line.ts';
import type { ShownReset } from './checkpoint-reset.ts';
import { textTable } from './text-table.ts';

/** A reset for people: the table of moves, what follows from them, and the command that does it. */
export function resetText(shown: ShownReset, command: string): string {
  const { preview } = shown;
  const lines: string[] = [];
  const earlier = shown.executed ? shown.finished : shown.unfinished;
  if (earlier !== null) {
    const what = `the reset that ${earlier.by} began at ${earlier.at} (batch ${earlier.batchId}: ${earlier.command})`;
    lines.push(shown.executed ? `${what} is finished` : `${what} did not end: --execute finishes it first`);
  }
  if (preview !== null) {
    lines.push(...(lines.length > 0 ? [''] : []), headline(shown, preview), movesTable(preview).trimEnd());
    const more = notes(preview);
    if (more.length > 0) lines.push('', ...more);
    lines.push(...ending(shown, preview, command));
  }
  return `${lines.join('\n')}\n`;
}

/** The same for programs. */
export function resetJson(shown: ShownReset, request: ResetRequest): Record<string, unknown> {
  const { preview } = shown;
  return {
    executed: shown.executed,
    command: resetCommand(request),
    batchId: shown.executed ? shown.appended : (preview?.batchId ?? null),
    finishedEarlier: shown.executed ? shown.finished : null,
    unfinished: shown.executed ? null : shown.unfinished,
    changes: preview?.changes ?? false,
    givesUpBatch: preview?.givesUp?.batchId ?? null,
    cluster: preview === null ? null : { from: preview.clusterFrom, to: preview.clusterTo },
    moves: (preview?.moves ?? []).map((m) => ({
      ...m,
      table: preview?.tables.get(m.topic) ?? null,
      offsetsLost: countLost([m]),
      offsetsAgain: countOffsets(m.again),
    })),
    refusals: preview?.refusals ?? [],
  };
}

function headline(shown: ShownReset, preview: ResetPreview): string {
  if (!preview.changes) return 'nothing would change: the checkpoint stands there already';
  return shown.executed
    ? `batch ${shown.appended} was appended`
    : `batch ${preview.batchId} would be appended; nothing was written`;
}

function movesTable(preview: ResetPreview): string {
  return textTable(
    ['topic', 'partition', 'incarnation', 'from', 'to', 'unread from', 'lost', 'of it gone', 'come again'],
    preview.moves.map((m) => [
      m.topic,
      String(m.partition),
      incarnation(m),
      m.from === null ? 'new' : String(m.from),
      m.to === null ? 'dropped' : String(m.to),
      m.to === null ? '-' : String(m.unread),
      count(countLost([m])),
      count(countLost([m], 'gone')),
      count(countOffsets(m.again)),
    ]),
  );
}

function incarnation({ fromTopicId, toTopicId, replaced }: PartitionMove): string {
  const from = fromTopicId ?? 'unknown';
  const to = toTopicId ?? 'unknown';
  return replaced || from !== to ? `${from} -> ${to}` : to;
}

function notes(preview: ResetPreview): string[] {
  const { moves, givesUp } = preview;
  const lines: string[] = [];
  if (preview.clusterFrom !== preview.clusterTo)
    lines.push(`cluster ${preview.clusterFrom ?? 'unknown'} -> ${preview.clusterTo ?? 'unknown'}`);
  if (givesUp !== null)
    lines.push(
      `batch ${givesUp.batchId} was planned and not read: it is taken back. Nothing of it is in any table; partitions that are not reset are read again from where it began`,
    );
  const replaced = [...new Set(moves.filter((m) => m.replaced).map((m) => m.topic))];
  for (const topic of replaced)
    lines.push(
      `topic ${topic} was created anew: what the old one held from the offsets under "from" on is gone${givesUp === null ? ', how much of it is not known' : ', and only what was planned is counted'}`,
    );
  const gone = moves.filter((m) => m.to === null);
  if (gone.length > 0)
    lines.push(
      `no longer there, and dropped from the checkpoint: ${gone.map((m) => `${m.topic}-${m.partition}`).join(', ')}`,
    );
  const lost = countLost(moves);
  if (lost > 0n)
    lines.push(
      `${count(lost)} offsets go on record as lost, ${count(countLost(moves, 'gone'))} of them gone from the brokers`,
    );
  for (const topic of new Set(moves.filter((m) => m.again.length > 0).map((m) => m.topic))) {
    const again = countOffsets(moves.filter((m) => m.topic === topic).flatMap((m) => m.again));
    lines.push(
      `${count(again)} offsets come again into ${preview.tables.get(topic) ?? 'the table'} (and its quarantine)`,
    );
  }
  return lines;
}

function ending(shown: ShownReset, preview: ResetPreview, command: string): string[] {
  if (!preview.changes) return [];
  if (shown.executed) return ['', 'the next `sluice run` goes on from there'];
  if (preview.refusals.length > 0) return ['', ...preview.refusals.map((r) => `refused: ${r}`)];
  return ['', `to do it: ${command} --execute`];
}
