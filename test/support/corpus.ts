/** Records of every kind that Kafka can hold, and the rows that must come of them. */
import { isUtf8 } from 'node:buffer';
import type { Produced, ProducedRecord, RecordToSend } from './produced.ts';
import type { ForeignValue, Integer64 } from './python.ts';

/** 2026-07-14T13:00:00Z. */
export const CORPUS_START_MS = 1_784_034_000_000n;
const MIN_MS = -62_135_596_800_000n;
const MAX_MS = 253_402_300_799_999n;

const text = (value: string): Buffer => Buffer.from(value);
const hex = (digits: string): Buffer => Buffer.from(digits, 'hex');

/** Texts of all planes, of the lengths where bounds are cut (16 code points), and bytes that are no text. */
const VALUES: readonly (Buffer | null)[] = [
  text('a'),
  null,
  text(''),
  text('{"n":1,"text":"é€😀"}'),
  text(`${'b'.repeat(15)}… tail`),
  text('aa'),
  text('\u0000'),
  text('\u{1f600}'.repeat(20)),
  text('\u{10ffff}'.repeat(17)),
  text('\ud7ff'.repeat(17)),
  text('\uffff\u{20000}\u{e0001}\u{f0000}\u{100000}'),
  hex('ff'),
  hex('eda080'),
  hex('c080'),
  hex('e280'),
  hex('f4908080'),
  hex('ff'.repeat(20)),
  Buffer.concat([text('good, then '), hex('00ff')]),
  text(`long ${'x'.repeat(200_000)}`),
  text('line\r\nline\ttab "quoted" \\ \u2028'),
];
const KEYS: readonly (Buffer | null)[] = [
  text('iceberg'),
  null,
  text(''),
  text('k'),
  text('ключ😀'),
  text('z'.repeat(5000)),
  text('abcd'),
  hex('fe00'),
  hex('ff'.repeat(20)),
  text('ab'),
  text('\u{10ffff}'.repeat(16)),
];
const HEADERS: readonly NonNullable<RecordToSend['headers']>[] = [
  [],
  [['trace', text('t1')]],
  [
    ['trace', text('t1')],
    ['trace', Buffer.alloc(0)],
    ['', hex('ff00')],
    ['ключ😀', text('x'.repeat(300))],
  ],
  [],
  [
    ['good', text('v')],
    [hex('ff61'), text('v')],
  ],
];
/** Not a time of the stream: none, just before 1970, whole days before it, the first and last that a table can say, one beyond. */
const ODD_TIMES: readonly bigint[] = [-1n, -2n, -1000n, -86_400_000n, 0n, MIN_MS, MAX_MS, MAX_MS + 1n];

export interface CorpusOptions {
  /** Only times from 1969 on, where a zone of today is a whole number of hours off. */
  modernTimes?: boolean;
  /** Another order of values, keys and times against each other. */
  round?: number;
  count?: number;
}

/** One stretch of a partition. Times go through twenty hours, over midnight in UTC and in Seoul; every fifth is an odd one. */
export function corpus({ modernTimes = false, round = 0, count = 80 }: CorpusOptions = {}): RecordToSend[] {
  const odd = modernTimes ? ODD_TIMES.filter((ms) => ms > MIN_MS && ms < MAX_MS) : ODD_TIMES;
  return Array.from({ length: count }, (_, i) => ({
    value: VALUES[i % VALUES.length],
    key: KEYS[(i + round * 3) % KEYS.length],
    headers: HEADERS[(i + (i >> 4) + round) % HEADERS.length],
    timestampMs:
      i % 5 === 4
        ? odd[((i - 4) / 5) % odd.length]
        : CORPUS_START_MS + BigInt(round) * 60_000n + BigInt(i) * 900_000n,
  }));
}

/** The records cut where their times leap, so that each piece can be one record batch of `Produced`. */
export function batchesOf(records: readonly RecordToSend[], size = 16): RecordToSend[][] {
  const batches: RecordToSend[][] = [];
  for (const record of records) {
    const last = batches.at(-1);
    const leap = last !== undefined && abs(record.timestampMs - last[0].timestampMs) > 1_000_000_000n;
    if (last === undefined || leap || last.length >= size) batches.push([record]);
    else last.push(record);
  }
  return batches;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** A row as foreign readers print it (see `ForeignValue`), or a quarantined record. */
export interface ExpectedRow {
  quarantined: { reason: string; field: string } | null;
  row: Record<string, ForeignValue>;
}

export interface ExpectedOptions {
  valueType: 'string' | 'binary';
  keyType: 'string' | 'binary';
  headers: boolean;
  zoneOffsetMs: bigint;
  tombstones?: 'keep' | 'drop';
}

/** The rows that the records of a topic must become: told apart by plain rules, without a line of Sluice's own. */
export function expectedRows(
  produced: Produced,
  topic: string,
  partitions: number,
  options: ExpectedOptions,
): ExpectedRow[] {
  const rows: ExpectedRow[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    for (const record of produced.of(topic, partition).values()) {
      const expected = expectedRow(topic, partition, record, options);
      if (expected !== null) rows.push(expected);
    }
  }
  return rows.sort((a, b) => compare(a.row, b.row));
}

function expectedRow(
  topic: string,
  partition: number,
  record: ProducedRecord,
  options: ExpectedOptions,
): ExpectedRow | null {
  const { value, key, timestampMs, offset } = record;
  const quarantined = faultOf(record, options);
  const inRange = timestampMs >= MIN_MS && timestampMs <= MAX_MS && timestampMs !== -1n;
  const row: Record<string, ForeignValue> = {
    topic,
    kafka_partition: partition,
    kafka_offset: integer(offset),
    kafka_timestamp: inRange ? integer(timestampMs * 1000n) : null,
  };
  const headers = (record.headers ?? []).map(([name, bytes]) => ({
    key: name.toString(),
    value: bytes.toString('hex'),
  }));
  if (quarantined !== null) {
    const bytes = { key: key?.toString('hex') ?? null, value: value?.toString('hex') ?? null };
    return { quarantined, row: { ...row, ...bytes, headers: headers.length === 0 ? null : headers } };
  }
  if (value === null && options.tombstones === 'drop') return null;
  row['value'] = value?.toString(options.valueType === 'string' ? 'utf8' : 'hex') ?? null;
  row['key'] = key?.toString(options.keyType === 'string' ? 'utf8' : 'hex') ?? null;
  row['dt'] = inRange ? localIso(timestampMs, options.zoneOffsetMs).slice(0, 10) : null;
  row['hour'] = inRange ? Number(localIso(timestampMs, options.zoneOffsetMs).slice(11, 13)) : null;
  if (options.headers) row['headers'] = headers.length === 0 ? null : headers;
  return { quarantined, row };
}

/** A record that is wrong in several ways has the reason that comes first: the time, the value, the key, the headers. */
function faultOf(record: ProducedRecord, options: ExpectedOptions): ExpectedRow['quarantined'] {
  const { value, key, timestampMs } = record;
  if (timestampMs > MAX_MS) return { reason: 'OUT_OF_RANGE', field: 'kafka_timestamp' };
  if (options.valueType === 'string' && value !== null && !isUtf8(value))
    return { reason: 'INVALID_UTF8', field: 'value' };
  if (options.keyType === 'string' && key !== null && !isUtf8(key))
    return { reason: 'INVALID_UTF8', field: 'key' };
  const oddHeader = record.headers?.some(([name]) => typeof name !== 'string' && !isUtf8(name));
  return options.headers && oddHeader ? { reason: 'INVALID_UTF8', field: 'headers' } : null;
}

function localIso(ms: bigint, zoneOffsetMs: bigint): string {
  return new Date(Number(ms + zoneOffsetMs)).toISOString();
}

/** As parseJson64 gives it. */
export function integer(value: bigint): Integer64 {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function compare(a: ExpectedRow['row'], b: ExpectedRow['row']): number {
  const partitions = Number(a['kafka_partition']) - Number(b['kafka_partition']);
  return partitions === 0 ? Number(a['kafka_offset']) - Number(b['kafka_offset']) : partitions;
}
