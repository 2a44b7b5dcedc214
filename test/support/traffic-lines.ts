/** Records as KafkaTraffic.java writes them, of the table and of the reader, to compare line by line. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RecordColumns } from '../../src/columns/record-columns.ts';
import type { PartitionCursor } from '../../src/kafka/partition-cursor.ts';

/** What the Java consumer read: lines without their first word by `topic-partition@offset`, and where each partition begins and ends. */
export interface JavaReading {
  records: Map<string, string>;
  ranges: Map<string, { topic: string; partition: number; from: bigint; until: bigint }>;
}

export async function readTraffic(file: string): Promise<JavaReading> {
  const reading: JavaReading = { records: new Map(), ranges: new Map() };
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line === '') continue;
    const [kind, topic, partition, ...rest] = line.split('\t');
    const name = `${topic}-${partition}`;
    if (kind === 'range') {
      const [from, until] = rest.map(BigInt);
      reading.ranges.set(name, { topic, partition: Number(partition), from, until });
      continue;
    }
    const key = `${name}@${rest[0]}`;
    if (reading.records.has(key)) throw new Error(`Java read ${key} twice`);
    reading.records.set(key, line.slice(kind.length + 1));
  }
  return reading;
}

/** The line of Java without the column that the table does not have: the type of the time. */
export function asInTable(line: string): string {
  const fields = line.split('\t');
  fields.splice(4, 1);
  return fields.join('\t');
}

/** The line of Java without headers, which `addRows` leaves out. */
export function withoutHeaders(line: string): string {
  return line.slice(0, line.lastIndexOf('\t'));
}

/** Rows of a bronze table with binary keys and values and headers, as `readIndependently` gives them. */
export function tableLines(rows: readonly Record<string, unknown>[]): Map<string, string> {
  const lines = new Map<string, string>();
  for (const row of rows) {
    const time = row['kafka_timestamp'] as bigint | null | undefined;
    const headers = (row['headers'] ?? []) as { key: string; value: Uint8Array | null }[];
    const line = [
      row['topic'],
      row['kafka_partition'],
      row['kafka_offset'],
      time == null ? -1 : time / 1000n,
      shown(row['key']),
      shown(row['value']),
      headers.map(({ key, value }) => `${shown(Buffer.from(key))}=${shown(value)}`).join(','),
    ].join('\t');
    add(lines, `${row['topic']}-${row['kafka_partition']}@${row['kafka_offset']}`, line);
  }
  return lines;
}

/** Adds what `readRanges` hands on. */
export function addRows(lines: Map<string, string>, cursor: PartitionCursor, columns: RecordColumns): void {
  const { topic, partition } = cursor;
  for (let row = 0; row < columns.length; row++) {
    const offset = columns.offsets.getBigInt(row);
    const line = [
      topic,
      partition,
      offset,
      columns.timestampsMs.nulls[row] === 1 ? -1 : columns.timestampsMs.getBigInt(row),
      columns.timestampTypes.values[row],
      shown(columns.keys.get(row)),
      shown(columns.values.get(row)),
    ].join('\t');
    add(lines, `${topic}-${partition}@${offset}`, line);
  }
}

/** What is wrong, at most 20 lines of it; empty where both are equal. */
export function differences(
  found: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, string>,
): string[] {
  const faults: string[] = [];
  for (const [key, line] of expected) {
    const other = found.get(key);
    if (other === undefined) faults.push(`${key} is missing: ${line}`);
    else if (other !== line) faults.push(`${key} is\n  ${other}, not\n  ${line}`);
  }
  for (const [key, line] of found) if (!expected.has(key)) faults.push(`${key} is too many: ${line}`);
  return faults.slice(0, 20);
}

function add(lines: Map<string, string>, key: string, line: string): void {
  if (lines.has(key)) throw new Error(`${key} is there twice`);
  lines.set(key, line);
}

function shown(bytes: unknown): string {
  if (bytes === null || bytes === undefined) return '-';
  const buffer = Buffer.from(bytes as Uint8Array);
  if (buffer.length <= 24) return buffer.toString('hex');
  return `sha256:${buffer.length}:${createHash('sha256').update(buffer).digest('hex')}`;
}
