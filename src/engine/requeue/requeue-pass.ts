import { RecordColumns } from '../../columns/record-columns.ts';
import type { QuarantineColumn } from './quarantine-columns.ts';
import { ALL_COLUMNS } from './quarantine-columns.ts';
import type { QuarantineTable, RecordFilter } from './quarantine-table.ts';
import { type RecordKey, RecordSet } from './record-set.ts';
import type { RequeueHost } from './requeue-host.ts';
import { type RowSink, STAYS, type Staying, type StoredBatch, type Verdict } from './requeue-intake.ts';
import type { RequeueOutput } from './requeue-output.ts';
import type { RequeueTally } from './requeue-report.ts';
import type { RequeuedTable } from './requeued-table.ts';
import { markInvalidUtf8, type StoredRecords } from './stored-records.ts';
import type { TopicIntakes } from './topic-intakes.ts';

const COLUMNS: readonly QuarantineColumn[] = ALL_COLUMNS.filter(
  (column) => column !== 'schema_id' && column !== 'quarantined_at',
);
const REPLACED = '\uFFFD';

export interface PassOptions {
  filter: RecordFilter;
  /** Records that a live process is bringing back. */
  busy: RecordSet;
  /** These alone; null: all. */
  only: RecordSet | null;
}

/** Records of one topic-partition, gathered from a chunk. */
interface Gathered {
  batch: StoredBatch & { doubtfulHeaders: boolean[] };
  keys: { key: RecordKey; offset: bigint; was: string }[];
}

/** Goes once over a quarantine: decodes what has not gone back, counts what becomes of it, and hands the rows on. */
export class RequeuePass {
  private readonly host: RequeueHost;
  private readonly quarantine: QuarantineTable;
  private readonly requeued: RequeuedTable;
  private readonly topics: TopicIntakes;
  private readonly tally: RequeueTally;
  /** Null: nothing is written. */
  private readonly output: RequeueOutput | null;
  /** Met in this pass: what stands twice in a quarantine goes back once. */
  private readonly met = new RecordSet();

  constructor(
    host: RequeueHost,
    quarantine: QuarantineTable,
    requeued: RequeuedTable,
    topics: TopicIntakes,
    tally: RequeueTally,
    output: RequeueOutput | null,
  ) {
    this.host = host;
    this.quarantine = quarantine;
    this.requeued = requeued;
    this.topics = topics;
    this.tally = tally;
    this.output = output;
  }

  async run(options: PassOptions): Promise<void> {
    await this.quarantine.scan(COLUMNS, options.filter, async (records, rows) => {
      for (const gathered of await this.gather(records, rows, options)) {
        await this.take(gathered);
        await this.output?.settle();
      }
      return undefined;
    });
    await this.output?.flush();
  }

  /** Sorts the rows of a chunk by topic-partition; counts those that are not to be decoded. */
  private async gather(
    records: StoredRecords,
    rows: readonly number[],
    { busy, only }: PassOptions,
  ): Promise<Gathered[]> {
    const groups = new Map<string, Gathered>();
    for (const row of rows) {
      const found = records.key(row);
      if (found === null) {
        if (only === null) this.tally.withoutPlace();
        continue;
      }
      const { offset, ...key } = found;
      if (only !== null && !only.has(key, offset)) continue;
      if (this.requeued.records.has(key, offset) || !this.met.add(key, offset)) this.tally.wentBefore();
      else if (busy.has(key, offset)) this.tally.isBusy();
      else await this.gatherOne(records, row, key, offset, groups);
    }
    return [...groups.values()];
  }

  private async gatherOne(
    records: StoredRecords,
    row: number,
    key: RecordKey,
    offset: bigint,
    groups: Map<string, Gathered>,
  ): Promise<void> {
    const was = records.text('reason', row) ?? '';
    const intake = await this.topics.of(key.topic);
    const stays = 'take' in intake ? staysWhateverItHolds(records, row) : intake;
    if (stays !== null) {
      this.tally.stays(was, stays, place(key, offset));
      return;
    }
    const topicId = await this.topics.topicId(key, offset);
    const name = JSON.stringify([key.topic, key.partition, topicId]);
    let group = groups.get(name);
    if (group === undefined) {
      const { partition } = key;
      const batch = { partition, topicId, columns: new RecordColumns(), doubtfulHeaders: [] };
      group = { batch, keys: [] };
      groups.set(name, group);
    }
    records.appendTo(group.batch.columns, row);
    const isDoubtful = records.headers(row)?.some((h) => h.key.includes(REPLACED)) ?? false;
    group.batch.doubtfulHeaders.push(isDoubtful);
    group.keys.push({ key, offset, was });
  }

  private async take({ batch, keys }: Gathered): Promise<void> {
    const { output, host } = this;
    markInvalidUtf8(batch.columns);
    const intake = await this.topics.of(keys[0].key.topic);
    if (!('take' in intake)) return;
    const sink: RowSink = (targets, block, from, until) => output?.append(targets, block, from, until);
    const verdicts: Verdict[] = await intake.take(batch, host.registry.schema, sink);
    for (const [row, verdict] of verdicts.entries()) {
      const { key, offset, was } = keys[row];
      if (verdict.table === null) this.tally.stays(was, verdict, place(key, offset));
      else if (output === null) this.tally.row(verdict.table);
      else output.note(verdict.table, key, offset);
    }
  }
}

/** Some of a record may be gone, so that no decoding brings it back as it was. */
function staysWhateverItHolds(records: StoredRecords, row: number): Staying | null {
  const stays = (reason: 'VALUE_CUT' | 'TIME_LOST', field: string): Staying => ({
    table: null,
    reason,
    field,
    message: STAYS[reason],
  });
  if (!records.isWhole(row)) return stays('VALUE_CUT', 'value');
  const isTime = records.text('field', row) === 'kafka_timestamp';
  return isTime && records.text('reason', row) === 'OUT_OF_RANGE'
    ? stays('TIME_LOST', 'kafka_timestamp')
    : null;
}

function place({ topic, partition }: RecordKey, offset: bigint): string {
  return `${topic}/${partition}/${offset}`;
}
