import type { DataFile } from '../../core/data-file.ts';
import type { QuarantineColumn } from './quarantine-columns.ts';
import { integerOf, type QuarantineTable, type RecordFilter } from './quarantine-table.ts';
import { RecordSet } from './record-set.ts';
import type { RequeuedTable } from './requeued-table.ts';
import type { StoredRecords } from './stored-records.ts';

/** Records that were set aside for one reason, in one field. */
export interface QuarantineGroup {
  reason: string;
  field: string;
  records: number;
  /** Of them, have gone back. */
  requeued: number;
  /** Kafka's time of the oldest and the newest, microseconds since 1970; null where none has one. */
  firstMicros: bigint | null;
  lastMicros: bigint | null;
  /** The coordinate of one of them; null where it is not known. */
  example: { topic: string; partition: number; offset: bigint } | null;
}

export interface QuarantineSummary {
  quarantine: string;
  snapshotId: bigint | null;
  records: number;
  requeued: number;
  /** Most records first. */
  groups: QuarantineGroup[];
}

/** Groups that are told apart; records of others are counted as OTHERS. */
const MAX_GROUPS = 1000;
const OTHERS = 'OTHERS';
const COLUMNS: readonly QuarantineColumn[] = [
  'reason',
  'field',
  'topic',
  'kafka_partition',
  'kafka_offset',
  'kafka_timestamp',
];

/**
 * Counts the records of a quarantine by reason and field. Files of which the metadata tells it all are not opened; of the
 * others the small columns are read.
 */
export async function summariseQuarantine(
  quarantine: QuarantineTable,
  requeued: RequeuedTable,
  filter: RecordFilter,
): Promise<QuarantineSummary> {
  const summary = new Summary(requeued);
  const wentBack = requeued.records.size > 0;
  const columns: QuarantineColumn[] = wentBack ? [...COLUMNS, 'pipeline', 'batch_id'] : [...COLUMNS];
  for (const name of ['reason', 'topic', 'quarantined_at'] as const)
    if (isAsked(name, filter) && !columns.includes(name)) columns.push(name);
  for await (const file of quarantine.files(filter)) {
    if (!wentBack && summary.addFile(quarantine, file, filter)) continue;
    await quarantine.scanFile(file, columns, filter, async (records, rows) => {
      for (const row of rows) summary.add(records, row);
      return undefined;
    });
  }
  return {
    quarantine: quarantine.name,
    snapshotId: quarantine.loaded.metadata.currentSnapshotId,
    ...summary.totals(),
  };
}

function isAsked(column: 'reason' | 'topic' | 'quarantined_at', filter: RecordFilter): boolean {
  if (column === 'quarantined_at') return filter.sinceMs !== undefined || filter.untilMs !== undefined;
  return filter[column] !== undefined;
}

class Summary {
  private readonly requeued: RequeuedTable;
  private readonly groups = new Map<string, QuarantineGroup>();
  /** What stands twice in a quarantine has gone back once. */
  private readonly counted = new RecordSet();

  constructor(requeued: RequeuedTable) {
    this.requeued = requeued;
  }

  add(records: StoredRecords, row: number): void {
    const group = this.group(records.text('reason', row) ?? '', records.text('field', row) ?? '');
    group.records++;
    const micros = records.long('kafka_timestamp', row);
    this.span(group, micros, micros);
    const found = records.key(row);
    if (found === null) return;
    const { offset, ...key } = found;
    group.example ??= { topic: key.topic, partition: key.partition, offset };
    if (this.requeued.records.has(key, offset) && this.counted.add(key, offset)) group.requeued++;
  }

  /** True where the metadata of the file tells of all its records. */
  addFile(quarantine: QuarantineTable, file: DataFile, filter: RecordFilter): boolean {
    if (isAsked('quarantined_at', filter) || filter.offsets !== undefined) return false;
    const [reason, field, topic] = (['reason', 'field', 'topic'] as const).map((column) =>
      onlyText(quarantine, file, column),
    );
    const partition = quarantine.bounds(file, 'kafka_partition');
    const offset = quarantine.bounds(file, 'kafka_offset');
    const time = quarantine.bounds(file, 'kafka_timestamp');
    if (reason === undefined || field === undefined || topic === undefined) return false;
    if (partition === undefined || offset === undefined || time === undefined) return false;
    if (integerOf(partition.lower) !== integerOf(partition.upper)) return false;
    if (filter.reason !== undefined && filter.reason !== reason) return false;
    if (filter.topic !== undefined && filter.topic !== topic) return false;
    const group = this.group(reason, field);
    group.records += Number(file.recordCount);
    this.span(group, integerOf(time.lower), integerOf(time.upper));
    group.example ??= {
      topic,
      partition: Number(integerOf(partition.lower)),
      offset: integerOf(offset.lower),
    };
    return true;
  }

  totals(): Pick<QuarantineSummary, 'records' | 'requeued' | 'groups'> {
    const groups = [...this.groups.values()].sort((a, b) => b.records - a.records);
    const sum = (of: 'records' | 'requeued'): number => groups.reduce((n, g) => n + g[of], 0);
    return { records: sum('records'), requeued: sum('requeued'), groups };
  }

  private group(reason: string, field: string): QuarantineGroup {
    const full = this.groups.size >= MAX_GROUPS;
    const key = JSON.stringify([reason, field]);
    const name = this.groups.has(key) || !full ? key : OTHERS;
    let group = this.groups.get(name);
    if (group === undefined) {
      const empty = { records: 0, requeued: 0, firstMicros: null, lastMicros: null, example: null };
      group = name === OTHERS ? { reason: OTHERS, field: '', ...empty } : { reason, field, ...empty };
      this.groups.set(name, group);
    }
    return group;
  }

  private span(group: QuarantineGroup, from: bigint | null, to: bigint | null): void {
    if (from !== null && (group.firstMicros === null || from < group.firstMicros)) group.firstMicros = from;
    if (to !== null && (group.lastMicros === null || to > group.lastMicros)) group.lastMicros = to;
  }
}

/** The text that all records of a file have in a column. Bounds that were cut differ from each other. */
function onlyText(quarantine: QuarantineTable, file: DataFile, column: QuarantineColumn): string | undefined {
  const bounds = quarantine.bounds(file, column);
  if (bounds === undefined || quarantine.nullCount(file, column) !== 0n) return undefined;
  return Buffer.compare(bounds.lower, bounds.upper) === 0
    ? Buffer.from(bounds.lower).toString('utf8')
    : undefined;
}
