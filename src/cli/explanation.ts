import { formatByteSize } from '../core/byte-size.ts';
import { formatDuration } from '../core/duration.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import type { TopicPartition } from '../core/topic-partition.ts';
import type { BatchLimit } from '../engine/host.ts';
import { namesOf } from '../engine/topic-selection.ts';
import { count } from '../monitor/progress-line.ts';
import type { Forecast } from './forecast.ts';
import { textTable } from './text-table.ts';

/** What `explain` tells. */
export interface Explanation {
  pipeline: string;
  batchId: number;
  /** fresh: the first batch ever. next: all before it is committed. rerun: it was planned before and is read as planned. */
  kind: 'fresh' | 'next' | 'rerun';
  /** Partitions that the checkpoint does not know: they are read from their earliest offset. */
  newPartitions: TopicPartition[];
  ranges: (OffsetRange & { offsets: bigint })[];
  offsets: bigint;
  /** Offsets that are not yet planned, this batch included. */
  lag: bigint;
  /** Deleted before they were read; `failOnDataLoss: false` gives them up. */
  lost: OffsetRange[];
  /** The most offsets of the batch, and the option that says so. */
  limit: BatchLimit | null;
  /** minOffsetsPerTrigger: later batches of a run wait for so many. */
  minOffsets: bigint | null;
  /** By what came in during the last hour. */
  producedPerSecond: number;
  tasks: number;
  workers: number;
  partitions: number;
  /** Those that the batch reads something of. */
  partitionsToRead: number;
  /** Topics that `subscribePattern` matches only in part, and that are not read. */
  matchedInPart: string[];
  routes: { topic: string; table: string; partitionBy: string[] }[];
  forecast: Forecast;
}

export function explanationText(e: Explanation): string {
  const kind = {
    fresh: 'the first batch',
    next: 'the next batch',
    rerun: 'planned before and not committed: finished, or read again as planned',
  }[e.kind];
  const parts = [
    `batch ${e.batchId} (${kind}): ${count(e.offsets)} offsets of ${count(e.lag)} that wait; nothing was written\n`,
  ];
  parts.push(
    textTable(
      ['topic', 'partition', 'from', 'until', 'offsets'],
      e.ranges.map((r) => [r.topic, String(r.partition), String(r.from), String(r.until), count(r.offsets)]),
    ),
  );
  parts.push(
    textTable(
      ['topic', 'table', 'partitioned by'],
      e.routes.map((r) => [r.topic, r.table, r.partitionBy.join(', ') || 'nothing']),
    ),
  );
  parts.push(
    `${notes(e)
      .map(([name, value]) => `${name.padEnd(16)} ${value}`)
      .join('\n')}\n`,
  );
  if (e.forecast.warnings.length > 0)
    parts.push(`${e.forecast.warnings.map((w) => `warning: ${w}`).join('\n')}\n`);
  return parts.join('\n');
}

function notes(e: Explanation): [string, string][] {
  const { forecast } = e;
  const unknown = 'unknown: no batch has run yet';
  return [
    ...limitNotes(e),
    ['tasks', `${e.tasks} on ${e.workers} workers${idleWorkers(e)}`],
    ['partitions', partitionsText(e)],
    ['bytes', forecast.bytes === null ? unknown : `about ${formatByteSize(forecast.bytes)}`],
    [
      'comes in',
      e.producedPerSecond > 0
        ? `about ${rate(e.producedPerSecond)} in the last hour`
        : 'nothing in the last hour',
    ],
    ...e.lost.map((l): [string, string] => [
      'given up as lost',
      `${l.topic}-${l.partition} [${l.from}, ${l.until}), ${count(l.until - l.from)} offsets that were deleted before they were read`,
    ]),
    ['backlog drained', drainText(e)],
    ['files a day', filesText(forecast)],
    ...e.newPartitions.map((p): [string, string] => [
      'new partition',
      `${p.topic}-${p.partition}, from its earliest offset`,
    ]),
    ...(e.matchedInPart.length === 0
      ? []
      : [
          ['not read', `${namesOf(e.matchedInPart)}: subscribePattern matches only a part of the name`] as [
            string,
            string,
          ],
        ]),
  ];
}

function limitNotes(e: Explanation): [string, string][] {
  const found: [string, string][] = [];
  if (e.limit !== null) {
    const { maxOffsets, by, reason } = e.limit;
    found.push(['limit', `${count(maxOffsets)} offsets by ${by}${reason === null ? '' : ` (${reason})`}`]);
  }
  if (e.minOffsets !== null)
    found.push(['minimum', `later batches of a run wait for ${count(e.minOffsets)} offsets`]);
  return found;
}

function idleWorkers({ tasks, workers, offsets }: Explanation): string {
  if (tasks >= workers || offsets === 0n) return '';
  return '; a batch of this size is worth no more, minPartitions asks for more';
}

/** A range is cut at an offset where that is worth it, but one partition is served by one broker. */
function partitionsText({ partitionsToRead, partitions, workers }: Explanation): string {
  const of = `${partitionsToRead} to read of ${partitions}`;
  if (partitions >= workers) return of;
  return `${of}, fewer than the ${workers} workers: several read one partition at different offsets, but its broker serves it alone, which caps the gain of more workers`;
}

function drainText({ forecast, lag, producedPerSecond }: Explanation): string {
  if (lag === 0n) return 'nothing waits';
  if (forecast.drainMs !== null) {
    const meanwhile = producedPerSecond > 0 ? 'with what comes in meanwhile' : 'if nothing new came';
    return `in about ${formatDuration(forecast.drainMs)}, ${meanwhile}`;
  }
  return forecast.bytes === null
    ? 'unknown: no batch has run yet'
    : 'never: more comes in than recent batches read';
}

function filesText({ filesPerDay, averageFileBytes, steady }: Forecast): string {
  if (filesPerDay !== null)
    return `about ${count(filesPerDay)}, ${formatByteSize(averageFileBytes ?? 0)} on average, as recent batches made them`;
  if (steady === undefined) return 'unknown: no trigger by time, or no batch yet and nothing comes in';
  const size = steady.fileBytes === null ? '' : `, ${formatByteSize(steady.fileBytes)}`;
  return `about ${count(steady.filesPerDay)} at this trigger, of ${count(steady.recordsPerFile)} records${size} on average`;
}

function rate(perSecond: number): string {
  return perSecond >= 10 ? `${count(Math.round(perSecond))}/s` : `${Math.round(perSecond * 100) / 100}/s`;
}
