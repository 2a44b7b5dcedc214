import type { FinishedRequeue } from './requeue-claim.ts';
import type { Staying } from './requeue-intake.ts';

/** Records that stay in the quarantine for one reason. */
export interface StayingRecords {
  /** Why they were set aside. */
  was: string;
  /** Why they stay: a reason code, or one of `STAYS`. */
  reason: string;
  field: string;
  count: number;
  /** One of them, as `topic/partition/offset`, and what is wrong with it. */
  example: string;
  message: string;
}

/** Rows that one requeue has brought into one table. */
export interface RequeueDone {
  requeueId: string;
  table: string;
  snapshotId: bigint;
  rows: number;
}

/** What a requeue from one quarantine would do, or did. */
export interface RequeueReport {
  quarantine: string;
  executed: boolean;
  /** That the request chooses. */
  records: number;
  /** By data table: rows that came of them, or would. */
  rows: Record<string, number>;
  /** Had gone back before. */
  already: number;
  /** Are being brought back by a process that runs now. */
  busy: number;
  /** Rows of the quarantine without topic, partition or offset: Sluice did not write them. */
  unplaced: number;
  /** Most frequent first. */
  staying: StayingRecords[];
  requeues: RequeueDone[];
  /** Requeues that earlier processes had begun: finished; in a preview, those that would be finished first. */
  finished: FinishedRequeue[];
}

/** Reasons that are told apart; what comes beyond is counted together. */
const MAX_STAYING = 200;
const OTHERS = 'OTHERS';

/** Counts what a requeue comes to. */
export class RequeueTally {
  private records = 0;
  private already = 0;
  private busy = 0;
  private unplaced = 0;
  private readonly rows = new Map<string, number>();
  private readonly staying = new Map<string, StayingRecords>();

  row(table: string, count = 1): void {
    this.records += count;
    this.rows.set(table, (this.rows.get(table) ?? 0) + count);
  }

  wentBefore(): void {
    this.records++;
    this.already++;
  }

  isBusy(): void {
    this.records++;
    this.busy++;
  }

  withoutPlace(): void {
    this.records++;
    this.unplaced++;
  }

  stays(was: string, { reason, field, message }: Staying, example: string): void {
    this.records++;
    const full = this.staying.size >= MAX_STAYING;
    const key = JSON.stringify([was, reason, field]);
    const name = this.staying.has(key) || !full ? key : OTHERS;
    const entry = this.staying.get(name);
    if (entry !== undefined) entry.count++;
    else
      this.staying.set(
        name,
        name === OTHERS
          ? {
              was: OTHERS,
              reason: OTHERS,
              field: '',
              count: 1,
              example,
              message: 'reasons beyond the first 200',
            }
          : { was, reason, field, count: 1, example, message },
      );
  }

  report(
    quarantine: string,
    executed: boolean,
    requeues: RequeueDone[],
    finished: FinishedRequeue[],
  ): RequeueReport {
    const { records, already, busy, unplaced } = this;
    const rows = Object.fromEntries([...this.rows].sort(([a], [b]) => (a < b ? -1 : 1)));
    const staying = [...this.staying.values()].sort((a, b) => b.count - a.count);
    return { quarantine, executed, records, rows, already, busy, unplaced, staying, requeues, finished };
  }
}
