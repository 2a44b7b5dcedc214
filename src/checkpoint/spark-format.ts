/**
 * The files that Spark Structured Streaming reads and writes, byte for byte: `metadata` (StreamMetadata), `offsets/N`
 * (OffsetSeqLog v1), `commits/N` (CommitLog v1) and `sources/0/0` (KafkaSourceInitialOffsetWriter v1). The offset JSON
 * is that of the Kafka connector's JsonUtils. All parsers throw Malformed.
 */
import { asBigInt, parseJson64 } from '../core/json64.ts';
import { formatOffsetMap, type OffsetMap } from '../core/offset-range.ts';
import { decodeText, excerpt, Malformed } from './malformed.ts';

const MAX_OFFSET = 2n ** 63n - 1n;
const MAX_PARTITION = 2 ** 31 - 1;
const UTF8 = new TextEncoder();

/** `{"id":"<uuid>"}`. */
export function formatMetadata(id: string): Uint8Array {
  return UTF8.encode(JSON.stringify({ id }));
}

export function parseMetadata(bytes: Uint8Array): string {
  const json = parseJsonLine(decodeText(bytes), 'the query id');
  const id = asObject(json, 'the query id')['id'];
  if (typeof id !== 'string' || id === '') throw new Malformed(`its "id" is ${excerpt(String(id))}, no text`);
  return id;
}

/** What `offsets/N` holds. */
export interface OffsetLogEntry {
  batchTimestampMs: number;
  offsets: OffsetMap;
}

/** `v1`, the metadata line, the offsets of the one source; no newline at the end. */
export function formatOffsetLog(entry: OffsetLogEntry): Uint8Array {
  checkOffsets(entry.offsets);
  const metadata = `{"batchWatermarkMs":0,"batchTimestampMs":${entry.batchTimestampMs},"conf":{}}`;
  return UTF8.encode(`v1\n${metadata}\n${formatOffsetMap(entry.offsets)}`);
}

export function parseOffsetLog(bytes: Uint8Array): OffsetLogEntry {
  const lines = splitLines(decodeText(bytes));
  checkVersion(lines[0], 1, 'offset log');
  if (lines.length < 2) throw new Malformed('it ends after the version line');
  const sources = lines.slice(2);
  if (sources.length === 0) throw new Malformed('it ends after the metadata line');
  if (sources.length > 1) {
    throw new Malformed(
      `it holds the offsets of ${sources.length} sources, and Sluice reads one Kafka source`,
      'version',
    );
  }
  if (sources[0] === '-') throw new Malformed('it holds no offset ("-") for the source');
  return { batchTimestampMs: parseBatchTimestamp(lines[1]), offsets: parseOffsetJson(sources[0]) };
}

/** `v1` and the fixed metadata of a stateless query. */
export function formatCommitLog(): Uint8Array {
  return UTF8.encode('v1\n{"nextBatchWatermarkMs":0}');
}

export function parseCommitLog(bytes: Uint8Array): void {
  const lines = splitLines(decodeText(bytes));
  checkVersion(lines[0].trim(), 1, 'commit log');
  // Spark takes a commit without metadata for `{}`.
  if (lines.length > 1) asObject(parseJsonLine(lines[1], 'the commit metadata'), 'the commit metadata');
  if (lines.length > 2) throw new Malformed(`it has ${lines.length} lines, expected 2`);
}

/** A zero byte (for Spark 2.1, SPARK-19517), `v1`, the initial offsets. */
export function formatInitialOffsets(offsets: OffsetMap): Uint8Array {
  checkOffsets(offsets);
  return UTF8.encode(`\0v1\n${formatOffsetMap(offsets)}`);
}

export function parseInitialOffsets(bytes: Uint8Array): OffsetMap {
  if (bytes.length > 0 && bytes[0] !== 0) throw new Malformed('it does not begin with a zero byte');
  const text = decodeText(bytes.subarray(1));
  // Spark 2.1 wrote no version line.
  if (!text.startsWith('v')) return parseOffsetJson(text);
  const lines = splitLines(text);
  checkVersion(lines[0], 1, 'initial offset');
  if (lines.length !== 2) throw new Malformed(`it has ${lines.length} lines, expected 2`);
  return parseOffsetJson(lines[1]);
}

/** `{"topic":{"0":23,"1":7}}`, at least one partition, offsets in 0..2^63-1. */
export function parseOffsetJson(text: string): OffsetMap {
  const what = 'the offsets';
  const offsets: OffsetMap = new Map();
  for (const [topic, partitionsJson] of Object.entries(asObject(parseJsonLine(text, what), what))) {
    const partitions = new Map<number, bigint>();
    for (const [key, value] of Object.entries(asObject(partitionsJson, `the offsets of topic ${topic}`))) {
      const partition = /^(?:0|[1-9]\d{0,9})$/.test(key) ? Number(key) : Number.NaN;
      if (!(partition <= MAX_PARTITION))
        throw new Malformed(`topic ${topic} has a partition ${excerpt(key)}`);
      const offset = asBigInt(value);
      if (offset === undefined || offset < 0n || offset > MAX_OFFSET) {
        throw new Malformed(
          `the offset of ${topic}-${partition} is ${excerpt(String(value))}, expected 0 to 2^63-1`,
        );
      }
      partitions.set(partition, offset);
    }
    if (partitions.size > 0) offsets.set(topic, partitions);
  }
  if (offsets.size === 0) throw new Malformed('it holds no partition');
  return offsets;
}

/** Refuses what must never be stored: no partition at all (it would read everything again), or -1 and -2 unresolved. */
function checkOffsets(offsets: OffsetMap): void {
  let count = 0;
  for (const [topic, partitions] of offsets) {
    for (const [partition, offset] of partitions) {
      count++;
      if (
        offset < 0n ||
        offset > MAX_OFFSET ||
        !Number.isInteger(partition) ||
        partition < 0 ||
        partition > MAX_PARTITION
      ) {
        throw new Malformed(
          `the offset ${offset} of ${topic}-${partition} is not one to store: expected 0 to 2^63-1`,
        );
      }
    }
  }
  if (count === 0) throw new Malformed('there is no partition to store an offset of');
}

function parseBatchTimestamp(line: string): number {
  // Spark takes an empty metadata line for "none".
  if (line.trim() === '') return 0;
  const value = asObject(parseJsonLine(line, 'the batch metadata'), 'the batch metadata')['batchTimestampMs'];
  if (value === undefined) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new Malformed(`batchTimestampMs is ${excerpt(String(value))}, no integer`);
  return value;
}

/** Lines as Scala's `getLines` cuts them: a newline at the end begins no further line. */
function splitLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.length > 1 && lines[lines.length - 1] === '') lines.pop();
  return lines;
}

function checkVersion(line: string, known: number, what: string): void {
  const m = /^v([1-9]\d{0,8})$/.exec(line);
  if (m === null) throw new Malformed(`its first line is ${excerpt(line)}, expected the version "v${known}"`);
  if (Number(m[1]) !== known) {
    throw new Malformed(`it is ${what} version ${line}, and Sluice knows v${known}`, 'version');
  }
}

function parseJsonLine(text: string, what: string): unknown {
  try {
    return parseJson64(text);
  } catch {
    throw new Malformed(`${what}: ${excerpt(text)} is no JSON`);
  }
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Malformed(`${what}: expected a JSON object`);
  return value as Record<string, unknown>;
}
