import type { DoneBatch, PreparedBatch } from '../checkpoint/records.ts';
import { totalsOfFiles } from '../core/packed-data-files.ts';
import type { BatchReport, TableReport } from './host.ts';
import type { PlannedBatch } from './planned-batch.ts';

/** What a committed batch did, for people and programs. The durations of its phases are the caller's to fill in. */
export function batchReport(
  run: { pipelineId: string; runId: string },
  batch: PlannedBatch,
  prepared: PreparedBatch,
  done: DoneBatch,
): BatchReport {
  const { plan } = batch;
  const sum = (of: (r: PreparedBatch['funnel'][number]) => number): number =>
    prepared.funnel.reduce((total, r) => total + of(r), 0);
  const rows = sum((r) => r.rows);
  const quarantined = sum((r) => r.quarantined);
  const dropped = sum((r) => r.dropped);
  return {
    batchId: plan.batchId,
    pipelineId: run.pipelineId,
    runId: run.runId,
    startedAtMs: batch.startedAtMs,
    recovered: batch.recovered,
    ranges: plan.ranges,
    latest: batch.latest,
    records: rows + quarantined + dropped,
    quarantined,
    dropped,
    control: sum((r) => r.control),
    aborted: sum((r) => r.aborted),
    holes: sum((r) => r.holes),
    bytes: sum((r) => r.bytes),
    tables: tableReports(prepared, done),
    durations: {
      triggerExecution: 0,
      latestOffset: batch.latestOffsetMs,
      walCommit: batch.walCommitMs,
      addBatch: 0,
      read: 0,
      commitTables: 0,
      commitOffsets: 0,
    },
    limit: batch.limit,
    limitChange: null,
    lost: done.lost.map(({ topic, partition, from, until, reason }) => ({
      topic,
      partition,
      from,
      until,
      reason,
    })),
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  };
}

function tableReports(prepared: PreparedBatch, done: DoneBatch): TableReport[] {
  return prepared.tables.map((t) => ({
    table: t.table,
    role: t.role,
    rows: t.rows,
    files: t.files.length,
    bytes: Number(totalsOfFiles(t.files).fileBytes),
    snapshotId: done.tables.find((d) => d.table === t.table)?.snapshotId ?? null,
  }));
}
