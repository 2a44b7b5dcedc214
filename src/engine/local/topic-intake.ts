import { RecordColumns } from '../../columns/record-columns.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import type { ReasonCode } from '../../decode/reasons.ts';
import { SluiceError } from '../../errors.ts';
import { discovers } from '../column-source.ts';
import type { FailedRecord, TopicPlan, TopicTargets, WantedRoutes } from './batch-task.ts';
import { copyRecord } from './copy-records.ts';
import type { Discovery, WantedColumns } from './discovery.ts';
import type { RangeTally } from './range-tally.ts';
import { Router } from './router.ts';
import { type ExcludedRow, RowBlock } from './row-block.ts';
import { RowDecoders, type SchemaLookup } from './row-decoders.ts';
import type { TableWriters } from './table-writers.ts';

/** Faults that a column, another type of it, or an optional one could mend. */
const MENDABLE: ReadonlySet<ReasonCode> = new Set([
  'TYPE_MISMATCH',
  'OUT_OF_RANGE',
  'AVRO_RESOLUTION',
  'MISSING_REQUIRED',
  'UNKNOWN_FIELD',
] as const);

/** One place where records go, and how they are decoded on the way. */
interface Destination {
  targets: TopicTargets;
  decoders: RowDecoders | null;
}

/** Takes the records of one topic to their tables: routed, decoded, and set aside where they cannot be rows. */
export class TopicIntake {
  private readonly plan: TopicPlan;
  private readonly writers: TableWriters;
  /** Where there is no route, the one destination. */
  private readonly destinations: Destination[];
  /** Each once, however many destinations share it. */
  private readonly decoders: ReadonlySet<RowDecoders>;
  private readonly router: Router | null;
  private readonly discovery: Discovery | null;
  /** The first record that ends the run, unless its table is given what it lacks. */
  failed: FailedRecord | null = null;
  private readonly block = new RowBlock();
  private readonly routedBlock = new RowBlock();
  private readonly gathered = new RecordColumns();

  private constructor(
    plan: TopicPlan,
    writers: TableWriters,
    destinations: Destination[],
    router: Router | null,
    discovery: Discovery | null,
  ) {
    this.plan = plan;
    this.writers = writers;
    this.destinations = destinations;
    this.decoders = new Set(destinations.flatMap(({ decoders }) => decoders ?? []));
    this.router = router;
    this.discovery = discovery;
  }

  static async create(plan: TopicPlan, writers: TableWriters): Promise<TopicIntake> {
    const { targets, route } = plan;
    const all = targets === null ? route!.destinations.map((d) => d.targets) : [targets];
    // Destinations of the same columns share their decoder, and its buffers.
    const shared = new Map<string, RowDecoders>();
    const destinations: Destination[] = [];
    let discovery: Discovery | null = null;
    for (const target of all) {
      const { decode } = target;
      let decoders: RowDecoders | null = null;
      if (decode !== null) {
        const key = stringifyJson64(decode);
        decoders = shared.get(key) ?? (await RowDecoders.create(decode));
        shared.set(key, decoders);
        if (discovers(decode) && discovery === null) {
          const { Discovery } = await import('./discovery.ts');
          discovery = new Discovery(plan.topic);
        }
      }
      destinations.push({ targets: target, decoders });
    }
    const router = route === null ? null : await Router.create(plan.topic, route, plan.quarantine);
    return new TopicIntake(plan, writers, destinations, router, discovery);
  }

  /** Do the records need schemas that were not looked up yet? */
  misses(columns: RecordColumns): boolean {
    if (this.router?.misses(columns) === true) return true;
    for (const decoders of this.decoders) if (decoders.misses(columns)) return true;
    return false;
  }

  /** Looks up every schema that the records need. Throws what the registry throws: no record pays for its faults. */
  async lookUp(columns: RecordColumns, lookup: SchemaLookup): Promise<void> {
    await this.router?.lookUp(columns, lookup);
    for (const decoders of this.decoders) await decoders.lookUp(columns, lookup);
  }

  take(partition: number, columns: RecordColumns, tally: RangeTally): void {
    if (this.router !== null) this.takeRouted(this.router, partition, columns, tally);
    else this.takeInto(this.destinations[0], this.block, partition, columns, tally);
  }

  wanted(): WantedColumns[] {
    return this.discovery?.wanted() ?? [];
  }

  wantedRoutes(): WantedRoutes[] {
    const values = this.router?.unknownValues() ?? [];
    return values.length === 0 ? [] : [{ topic: this.plan.topic, values }];
  }

  private takeRouted(router: Router, partition: number, columns: RecordColumns, tally: RangeTally): void {
    const { block, gathered } = this;
    block.load(router.unrouted, partition, columns);
    if (block.maxTimestampMs > tally.maxTimestampMs) tally.maxTimestampMs = block.maxTimestampMs;
    const routed = router.route(block);
    let aside = 0;
    for (const excluded of routed.excluded) {
      if (!this.setAside(router.unrouted, block, excluded, tally)) continue;
      aside++;
    }
    if (aside > 0) tally.add('', 0, aside);
    for (const [index, count] of routed.counts.entries()) {
      if (count === 0) continue;
      const destination = this.destinations[index];
      if (count === columns.length) {
        this.takeInto(destination, this.routedBlock, partition, columns, tally);
        return;
      }
      gathered.clear();
      for (let row = 0; row < columns.length; row++)
        if (routed.destinations[row] === index) copyRecord(columns, row, gathered);
      this.takeInto(destination, this.routedBlock, partition, gathered, tally);
    }
  }

  private takeInto(
    { targets, decoders }: Destination,
    block: RowBlock,
    partition: number,
    columns: RecordColumns,
    tally: RangeTally,
  ): void {
    block.load(targets, partition, columns, decoders);
    if (decoders !== null) {
      if (discovers(decoders.plan))
        this.discovery?.look(targets.data.table, decoders, columns.values, columns.keys);
      this.failFast(targets, block);
    }
    if (block.maxTimestampMs > tally.maxTimestampMs) tally.maxTimestampMs = block.maxTimestampMs;
    let from = 0;
    let aside = 0;
    let rows = 0;
    for (const excluded of block.excluded) {
      const { row } = excluded;
      if (row > from) this.writers.data(targets.data).append(block, from, row);
      rows += row - from;
      if (this.setAside(targets, block, excluded, tally)) aside++;
      from = row + 1;
    }
    if (from < columns.length) this.writers.data(targets.data).append(block, from, columns.length);
    rows += columns.length - from;
    if (this.router !== null) tally.add(targets.data.table, rows, aside);
  }

  /** `mode: failfast`: the first record that cannot be decoded ends the run; one whose table may be given what it lacks, later. */
  private failFast(targets: TopicTargets, block: RowBlock): void {
    const { value, key } = targets.decode!;
    if (value?.format.mode !== 'failfast' && key?.format.mode !== 'failfast') return;
    for (const fault of block.excluded) {
      if (!failsFast(fault, targets)) continue;
      const { message, context } = failedRecord(block, fault);
      if (!mayBeMended(fault, targets)) throw new SluiceError('DECODE_ERROR', message, { context });
      this.failed ??= { message, context };
    }
  }

  /** True where the record goes to the quarantine, false where a rule drops it. */
  private setAside(
    targets: TopicTargets,
    block: RowBlock,
    excluded: ExcludedRow,
    tally: RangeTally,
  ): boolean {
    if (excluded.reason === null) {
      tally.drop(block.columns.offsets.getBigInt(excluded.row));
      return false;
    }
    this.writers.quarantine(targets.quarantine).append(block, excluded);
    tally.quarantined++;
    return true;
  }
}

/** A fault in a part that is to fail fast. */
function failsFast({ reason, part }: ExcludedRow, targets: TopicTargets): boolean {
  return reason !== null && part !== undefined && targets.decode?.[part]?.format.mode === 'failfast';
}

/** Could the table be given what the record lacks? */
function mayBeMended({ reason, part }: ExcludedRow, targets: TopicTargets): boolean {
  return targets.decode![part!]!.discover !== null && MENDABLE.has(reason!);
}

function failedRecord(block: RowBlock, { row, reason, field, message }: ExcludedRow): FailedRecord {
  const { topic, partition } = block;
  const offset = block.columns.offsets.getBigInt(row);
  return {
    message: `${topic}-${partition}, offset ${offset}: ${reason} in ${field}: ${message}; nothing of the batch was committed`,
    context: { topic, partition, offset, reason: reason! },
  };
}
