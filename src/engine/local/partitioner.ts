import type { TypedColumn } from '../../columns/create-column.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import { PartitionTime } from '../../core/partition-time.ts';
import { parseDecimal } from '../../core/schema.ts';
import { bindPartitionSpec, partitionFunctions } from '../../iceberg/partition.ts';
import type { BronzeSource } from '../bronze-layout.ts';
import { type ColumnSource, isDecoded } from '../column-source.ts';
import type { TargetTable } from './batch-task.ts';
import { decodedLeaf, decodedValue, type FieldPlace, placeOf, plainValue } from './partition-source.ts';
import type { RowBlock } from './row-block.ts';
import { stretchOf, ValueNumbers } from './value-numbers.ts';

const HOUR_MS = 3_600_000;
/** Stretches whose partitions are remembered: topic-partitions times hours. */
const MAX_STRETCHES = 4096;
const TIME_TRANSFORMS = new Set(['hour', 'day', 'month', 'year', 'void']);

/** Of a field whose column is gone: null in every row. */
const NO_PLACE: FieldPlace = { column: -1, path: [], type: 'unknown' };

/** How often the value of a partition field can change: for a whole block, with the hour, or from row to row. */
type Pace = 'block' | 'hour' | 'row';

interface FieldPlan {
  source: ColumnSource;
  place: FieldPlace;
  /** Keys and values of text columns are transformed as text, others as bytes. */
  isText: boolean;
  /** The value where the source is `null`. */
  byDefault: PartitionValue;
  pace: Pace;
  apply(value: PartitionValue): PartitionValue;
  /** Of a field whose value can change from row to row. */
  numbers: ValueNumbers | null;
}

/** Rows [from, until) of a block that go to one partition, and the values of dt and hour that they share. */
export interface PartitionRun {
  until: number;
  /** Equal for equal partitions. */
  key: string;
  partition: PartitionValue[];
  dt: string | null;
  hour: number | null;
}

/**
 * Finds, for a table, the runs of rows of a block that belong to one partition and share dt and hour. Kafka's
 * timestamps hardly leave an hour within a block, so that a run is as a rule the whole block; then nothing is
 * allocated per record. Fields of key, value, offset and decoded columns are looked at row by row: their values are
 * numbered, so that what was met before is found again without an object.
 */
export class Partitioner {
  private readonly fields: FieldPlan[];
  /** Can the partition change from row to row? */
  readonly byRow: boolean;
  private readonly rowFields: FieldPlan[];
  /** By number. */
  private readonly numbered: PartitionRun[] = [];
  /** Numbers of partitions by those of the row-paced fields, within what is the same for a stretch of rows. */
  private stretchNumbers: Map<string, number> | undefined;
  private readonly stretches = new Map<string, Map<string, number>>();
  private readonly fieldNumbers: Int32Array;
  private lastNumber = -1;
  private readonly usesHour: boolean;
  private readonly time: PartitionTime;
  /** dt, hour and the UTC hour are constant for timestamps in [stretchStart, stretchEnd). */
  private stretchStart = 1;
  private stretchEnd = 0;
  private dt: string | null = null;
  private hour: number | null = null;
  private run: PartitionRun | undefined;
  private runBlock = '';

  constructor(target: TargetTable) {
    this.time = new PartitionTime(target.timeZone);
    const bound = bindPartitionSpec(target.spec, [target.schema]);
    const functions = partitionFunctions(bound);
    this.fields = bound.map(({ field, transform }, i) => {
      const place = placeOf(target.schema, field.sourceId) ?? NO_PLACE;
      const source = target.sources[place.column] ?? 'null';
      return {
        source,
        place,
        isText: place.type === 'string',
        byDefault: place.path.length > 0 ? null : (target.defaults[place.column] ?? null),
        pace: paceOf(source, transform.kind),
        apply: functions[i],
        numbers:
          paceOf(source, transform.kind) === 'row'
            ? new ValueNumbers(functions[i], keyOf, stretchOf(transform.kind, place.type))
            : null,
      };
    });
    this.rowFields = this.fields.filter((f) => f.pace === 'row');
    this.byRow = this.rowFields.length > 0;
    this.fieldNumbers = new Int32Array(this.rowFields.length);
    this.usesHour =
      this.fields.some((f) => f.pace === 'hour') ||
      target.sources.includes('dt') ||
      target.sources.includes('hour');
  }

  /** The run that begins at row `from` and ends at `until` at the latest. Only where not `byRow`. */
  nextRun(block: RowBlock, from: number, until: number, batchTimestampMs: number): PartitionRun {
    const end = this.usesHour ? this.endOfHour(block, from, until) : until;
    const name = `${block.topic}\u0000${block.partition}`;
    if (this.run === undefined || this.runBlock !== name) {
      this.run = this.makeRun(block, from, batchTimestampMs);
      this.runBlock = name;
    }
    this.run.until = end;
    return this.run;
  }

  /** Numbers the partitions of rows [from, until); `runOf` tells what a number stands for. Only where `byRow`. */
  number(block: RowBlock, from: number, until: number, batchTimestampMs: number, into: Int32Array): void {
    for (let row = from; row < until; ) {
      const end = this.usesHour ? this.endOfHour(block, row, until) : until;
      this.enterStretch(block);
      for (; row < end; row++) into[row] = this.numberOf(block, row, batchTimestampMs);
    }
  }

  /** What a number stands for; its `until` is of no meaning. */
  runOf(number: number): PartitionRun {
    return this.numbered[number];
  }

  /** Numbers hold within rows that share topic, partition and hour. */
  private enterStretch(block: RowBlock): void {
    const name = `${block.topic}\u0000${block.partition}\u0000${this.dt}\u0000${this.hour}\u0000${this.stretchStart}`;
    let numbers = this.stretches.get(name);
    if (numbers === undefined) {
      if (this.stretches.size >= MAX_STRETCHES) this.stretches.clear();
      numbers = new Map();
      this.stretches.set(name, numbers);
    }
    if (numbers === this.stretchNumbers) return;
    this.stretchNumbers = numbers;
    this.lastNumber = -1;
  }

  private numberOf(block: RowBlock, row: number, batchTimestampMs: number): number {
    const { rowFields, fieldNumbers } = this;
    let changed = this.lastNumber < 0;
    for (let i = 0; i < rowFields.length; i++) {
      const number = this.fieldNumber(rowFields[i], block, row);
      if (number === fieldNumbers[i]) continue;
      fieldNumbers[i] = number;
      changed = true;
    }
    if (!changed) return this.lastNumber;
    const key = rowFields.length === 1 ? String(fieldNumbers[0]) : fieldNumbers.join();
    let number = this.stretchNumbers!.get(key);
    if (number === undefined) {
      number = this.numbered.length;
      this.numbered.push(this.makeRun(block, row, batchTimestampMs));
      this.stretchNumbers!.set(key, number);
    }
    this.lastNumber = number;
    return number;
  }

  private fieldNumber({ source, place, isText, numbers }: FieldPlan, block: RowBlock, row: number): number {
    const column = isDecoded(source)
      ? decodedLeaf(block.decoded, source, place, row)
      : rawColumn(source, block);
    if (column === null || column.isNull(row)) return numbers!.ofNull();
    switch (column.kind) {
      case 'bytes':
        return numbers!.ofBytes(column, row, isText);
      case 'int64':
        return numbers!.ofInt64(column, row);
      case 'int32':
        return numbers!.ofInt32(column, row, parseDecimal(place.type) !== undefined);
      default:
        return numbers!.ofValue(plainValue(column, place.type, row));
    }
  }

  /** Moves to the hour of row `from`; returns the first row of another hour. */
  private endOfHour(block: RowBlock, from: number, until: number): number {
    const { timestampsMs } = block.columns;
    const { timestampsMicros } = block;
    let row = from;
    if (timestampsMicros.isNull(from)) {
      if (this.stretchStart <= this.stretchEnd || this.dt !== null) {
        this.stretchStart = 1;
        this.stretchEnd = 0;
        this.dt = null;
        this.hour = null;
        this.run = undefined;
      }
      while (row < until && timestampsMicros.isNull(row)) row++;
      return row;
    }
    const first = timestampsMs.getNumber(from);
    if (first < this.stretchStart || first >= this.stretchEnd) this.enterHour(first);
    const { stretchStart, stretchEnd } = this;
    const { words } = timestampsMs;
    const anyNull = timestampsMicros.nullCount > 0;
    for (row = from + 1; row < until; row++) {
      const ms = words[row * 2 + 1] * 4294967296 + (words[row * 2] >>> 0);
      if (ms < stretchStart || ms >= stretchEnd || (anyNull && timestampsMicros.nulls[row] === 1)) break;
    }
    return row;
  }

  private enterHour(ms: number): void {
    const local = this.time.stretchOf(ms);
    const utcStart = Math.floor(ms / HOUR_MS) * HOUR_MS;
    this.stretchStart = Math.max(local.startMs, utcStart);
    this.stretchEnd = Math.min(local.endMs, utcStart + HOUR_MS);
    this.dt = local.dt;
    this.hour = local.hour;
    this.run = undefined;
  }

  private makeRun(block: RowBlock, row: number, batchTimestampMs: number): PartitionRun {
    const partition = this.tuple(block, row, batchTimestampMs);
    return { until: row, key: keyOf(partition), partition, dt: this.dt, hour: this.hour };
  }

  private tuple(block: RowBlock, row: number, batchTimestampMs: number): PartitionValue[] {
    return this.fields.map((f) => f.apply(this.valueOf(f, block, row, batchTimestampMs)));
  }

  private valueOf(
    { source, place, isText, byDefault }: FieldPlan,
    block: RowBlock,
    row: number,
    batchTimestampMs: number,
  ): PartitionValue {
    const { columns } = block;
    if (isDecoded(source)) return decodedValue(block.decoded, source, place, row);
    switch (source) {
      case 'topic':
        return block.topic;
      case 'partition':
        return block.partition;
      case 'ingestedAt':
        return BigInt(batchTimestampMs) * 1000n;
      case 'dt':
        return this.dt;
      case 'hour':
        return this.hour;
      case 'timestamp':
        return block.timestampsMicros.isNull(row) ? null : block.timestampsMicros.getBigInt(row);
      case 'offset':
        return columns.offsets.getBigInt(row);
      case 'key':
        return kept(columns.keys.get(row), isText);
      case 'value':
        return kept(columns.values.get(row), isText);
      case 'topicId':
        return block.topicId;
      default:
        return byDefault;
    }
  }
}

/** The column of a source that can change from row to row. */
function rawColumn(source: BronzeSource, { columns, timestampsMicros }: RowBlock): TypedColumn {
  if (source === 'key') return columns.keys;
  if (source === 'value') return columns.values;
  return source === 'offset' ? columns.offsets : timestampsMicros;
}

function paceOf(source: ColumnSource, transform: string): Pace {
  if (isDecoded(source)) return transform === 'void' ? 'block' : 'row';
  if (source === 'dt' || source === 'hour') return 'hour';
  if (source === 'timestamp') return TIME_TRANSFORMS.has(transform) ? 'hour' : 'row';
  if (source === 'key' || source === 'value' || source === 'offset') return 'row';
  return 'block';
}

/** The column's bytes are reused for the next block, the partition of a file lives on: a copy. */
function kept(bytes: Uint8Array | null, isText: boolean): PartitionValue {
  if (bytes === null) return null;
  return isText ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8') : bytes.slice();
}

/** A text that is equal for equal tuples only. */
export function keyOf(partition: readonly PartitionValue[]): string {
  let key = '';
  for (const value of partition) {
    if (value === null) key += 'n;';
    else if (value instanceof Uint8Array) key += `b${Buffer.from(value).toString('hex')};`;
    else {
      // Readers tell the two zeros apart: a file of 0.0 in the partition -0.0 would be passed over.
      const text = Object.is(value, -0) ? '-0' : String(value);
      key += `${typeof value}${text.length}:${text};`;
    }
  }
  return key;
}
