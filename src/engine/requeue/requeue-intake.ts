import { RecordColumns } from '../../columns/record-columns.ts';
import { discovers } from '../column-source.ts';
import type { TopicPlan, TopicTargets } from '../local/batch-task.ts';
import { copyRecord } from '../local/copy-records.ts';
import { Discovery, type WantedColumns } from '../local/discovery.ts';
import { Router } from '../local/router.ts';
import { type ExcludedRow, RowBlock } from '../local/row-block.ts';
import { RowDecoders, type SchemaLookup } from '../local/row-decoders.ts';

/** What becomes of a quarantined record by today's rules: a row of a table, or it stays, and why. */
export type Verdict = { table: string } | Staying;

export interface Staying {
  table: null;
  /** A reason code, or why it cannot go back whatever it holds: see `STAYS`. */
  reason: string;
  field: string;
  message: string;
}

/** Why records stay that are no fault of their bytes. */
export const STAYS = {
  DROPPED_BY_RULE: 'a rule drops the record: as a row it would not be there',
  VALUE_CUT: 'the quarantine kept only the beginning of the value, and the rest is nowhere',
  TIME_LOST: 'the time of the record is one that no table can hold, and was not kept',
  OTHER_TABLE: "the topic's records go to another table now",
  NO_RULE: 'no rule of the pipeline matches the topic any more',
} as const;

/** Records of one topic-partition and incarnation, as Kafka brought them. */
export interface StoredBatch {
  partition: number;
  topicId: string | null;
  columns: RecordColumns;
  /** By row: a header key holds U+FFFD, which may stand for bytes that are no text. */
  doubtfulHeaders: readonly boolean[];
}

/** Takes rows [from, until) of a block for a table. */
export type RowSink = (targets: TopicTargets, block: RowBlock, from: number, until: number) => void;

interface Destination {
  targets: TopicTargets;
  decoders: RowDecoders | null;
}

/** Decodes the quarantined records of one topic as new ones would be: the same routes, decoders and checks. */
export class RequeueIntake {
  private readonly destinations: Destination[];
  private readonly router: Router | null;
  private readonly discovery: Discovery | null;
  private readonly block = new RowBlock();
  private readonly routedBlock = new RowBlock();
  private readonly gathered = new RecordColumns();

  private constructor(destinations: Destination[], router: Router | null, discovery: Discovery | null) {
    this.destinations = destinations;
    this.router = router;
    this.discovery = discovery;
  }

  static async create({ topic, targets, route, quarantine }: TopicPlan): Promise<RequeueIntake> {
    const all = targets === null ? route!.destinations.map((d) => d.targets) : [targets];
    const destinations: Destination[] = [];
    for (const target of all)
      destinations.push({
        targets: target,
        decoders: target.decode === null ? null : await RowDecoders.create(target.decode),
      });
    const looks = all.some(({ decode }) => decode !== null && discovers(decode));
    // Records without a destination stay; they stop nothing, and make no table.
    const router =
      route === null ? null : await Router.create(topic, { ...route, unknown: 'quarantine' }, quarantine);
    return new RequeueIntake(destinations, router, looks ? new Discovery(topic) : null);
  }

  /** The data tables that records may go to. */
  get targets(): TopicTargets[] {
    return this.destinations.map((d) => d.targets);
  }

  /** The columns that the records so far ask of tables which follow their records. */
  wanted(): WantedColumns[] {
    return this.discovery?.wanted() ?? [];
  }

  /** By row. Throws what the registry throws. */
  async take(batch: StoredBatch, lookup: SchemaLookup, sink: RowSink): Promise<Verdict[]> {
    const { columns, partition, topicId } = batch;
    await this.router?.lookUp(columns, lookup);
    for (const { decoders } of this.destinations) await decoders?.lookUp(columns, lookup);
    const verdicts: Verdict[] = new Array(columns.length);
    const everyRow = Array.from({ length: columns.length }, (_, row) => row);
    if (this.router === null) {
      this.takeInto(this.destinations[0], this.block, batch, columns, everyRow, verdicts, sink);
      return verdicts;
    }
    this.block.load({ ...this.router.unrouted, topicId }, partition, columns);
    const routed = this.router.route(this.block);
    for (const excluded of routed.excluded) verdicts[excluded.row] = staying(excluded);
    for (const [index, count] of routed.counts.entries()) {
      if (count === 0) continue;
      const rows = everyRow.filter((row) => routed.destinations[row] === index);
      this.gathered.clear();
      for (const row of rows) copyRecord(columns, row, this.gathered);
      this.takeInto(this.destinations[index], this.routedBlock, batch, this.gathered, rows, verdicts, sink);
    }
    return verdicts;
  }

  /** `rows`: which rows of the batch those of `columns` are. */
  private takeInto(
    { targets, decoders }: Destination,
    block: RowBlock,
    { partition, topicId, doubtfulHeaders }: StoredBatch,
    columns: RecordColumns,
    rows: readonly number[],
    verdicts: Verdict[],
    sink: RowSink,
  ): void {
    block.load({ ...targets, topicId }, partition, columns, decoders);
    if (decoders !== null && discovers(decoders.plan))
      this.discovery?.look(targets.data.table, decoders, columns.values, columns.keys);
    const excluded = new Map(block.excluded.map((row) => [row.row, staying(row)]));
    if (targets.checkUtf8HeaderKeys) {
      const message = 'the key of a header was no text: the quarantine does not have its bytes';
      for (let row = 0; row < rows.length; row++)
        if (doubtfulHeaders[rows[row]] && !excluded.has(row))
          excluded.set(row, { table: null, reason: 'INVALID_UTF8', field: 'headers', message });
    }
    let from = 0;
    for (let row = 0; row < rows.length; row++) {
      const stays = excluded.get(row);
      verdicts[rows[row]] = stays ?? { table: targets.data.table };
      if (stays === undefined) continue;
      if (row > from) sink(targets, block, from, row);
      from = row + 1;
    }
    if (rows.length > from) sink(targets, block, from, rows.length);
  }
}

function staying({ reason, field, message }: ExcludedRow): Staying {
  if (reason !== null) return { table: null, reason, field, message };
  return { table: null, reason: 'DROPPED_BY_RULE', field, message: STAYS.DROPPED_BY_RULE };
}
