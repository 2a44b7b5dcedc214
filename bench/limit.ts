/**
 * How fast one thread can at best: the CRC-32C of record batches, zstd at level 1 of pages of 1 MiB, and writing them to a
 * file, nothing else. A process of its own; prints one line of JSON.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { crc32c } from '@node-rs/crc32';
import { ZstdCompressor } from '../src/parquet/zstd-compressor.ts';
import { AdEvents } from './events.ts';

/** Of one thread, in the median run. */
export interface LimitResult {
  records: number;
  cpuSeconds: number;
  recordsPerCpuSecond: number;
  megabytesPerCpuSecond: number;
}

const PAGE_BYTES = 1024 * 1024;
/** About what surrounds a value of 250 bytes in a record: lengths, deltas, the key. */
const RECORD_OVERHEAD_BYTES = 14;
const ROUNDS = 5;

function main(records: number, valueBytes: number): LimitResult {
  const bytes = material(records, valueBytes);
  const crcBytes = Buffer.alloc(records * RECORD_OVERHEAD_BYTES);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-limit-'));
  const cpu: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const from = process.cpuUsage();
      pass(bytes, crcBytes, join(directory, `${round}.bin`));
      const { user, system } = process.cpuUsage(from);
      cpu.push((user + system) / 1e6);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const cpuSeconds = cpu.sort((a, b) => a - b)[ROUNDS >> 1];
  return {
    records,
    cpuSeconds,
    recordsPerCpuSecond: records / cpuSeconds,
    megabytesPerCpuSecond: bytes.length / 1e6 / cpuSeconds,
  };
}

/** The values, one after another, each behind the four bytes of its length, as PLAIN pages hold them. */
function material(records: number, valueBytes: number): Buffer {
  const events = new AdEvents(valueBytes);
  const bytes = Buffer.alloc(records * (valueBytes + 4));
  for (let i = 0, at = 0; i < records; i++) {
    at = bytes.writeUInt32LE(valueBytes, at);
    at += bytes.write(events.record(i).value, at, 'latin1');
  }
  return bytes;
}

function pass(bytes: Buffer, more: Buffer, path: string): void {
  const zstd = new ZstdCompressor(1);
  const file = openSync(path, 'w');
  try {
    for (let at = 0; at < more.length; at += PAGE_BYTES) crc32c(more.subarray(at, at + PAGE_BYTES));
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
      const page = bytes.subarray(at, at + PAGE_BYTES);
      crc32c(page);
      writeSync(file, zstd.compress(page));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

if (process.argv[1]?.endsWith('limit.ts')) {
  const [records, valueBytes] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(main(records, valueBytes))}\n`);
}
