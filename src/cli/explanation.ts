import { formatByteSize } from '../core/byte-size.ts';
import { formatDuration } from '../core/duration.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import type { TopicPartition } from '../core/topic-partition.ts';
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
  tasks: number;
  workers: number;
  partitions: number;
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
  const parallel =
    e.tasks < e.workers
      ? `; only ${e.tasks} of ${e.workers} workers have something to do, minPartitions splits ranges`
      : '';
  return [
    ['tasks', `${e.tasks} on ${e.workers} workers${parallel}`],
    ['bytes', forecast.bytes === null ? unknown : `about ${formatByteSize(forecast.bytes)}`],
    [
      'backlog drained',
      forecast.drainMs === null
        ? unknown
        : forecast.drainMs === 0
          ? 'nothing waits'
          : `in about ${formatDuration(forecast.drainMs)}, if nothing new came`,
    ],
    [
      'files a day',
      forecast.filesPerDay === null
        ? 'unknown: no trigger by time, or no batch yet'
        : `about ${count(forecast.filesPerDay)}, ${formatByteSize(forecast.averageFileBytes ?? 0)} on average`,
    ],
    ...e.newPartitions.map((p): [string, string] => [
      'new partition',
      `${p.topic}-${p.partition}, from its earliest offset`,
    ]),
  ];
}
