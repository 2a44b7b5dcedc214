import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DataFile } from '../../../src/core/data-file.ts';
import type { TargetTable } from '../../../src/engine/local/batch-task.ts';
import { FileNaming } from '../../../src/engine/local/data-file-series.ts';
import { QuarantineWriter } from '../../../src/engine/local/quarantine-writer.ts';
import { RowBlock } from '../../../src/engine/local/row-block.ts';
import { MAX_OPEN_FILES, TableWriter } from '../../../src/engine/local/table-writer.ts';
import { readColumns } from '../../../src/parquet/reader.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { bronzeTarget, columnsOf, type TestRecord, topicTargets } from '../../support/blocks.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 29, 12);

interface ReadRow {
  partition: string;
  offset: number;
  value: string | null;
}

async function readBack(io: MemoryFileIO, files: readonly DataFile[]): Promise<ReadRow[]> {
  const rows: ReadRow[] = [];
  for (const file of files) {
    const count = await readColumns(io, file.filePath, ['kafka_offset', 'value'], ({ vectors, rowCount }) => {
      const [offsets, values] = vectors;
      if (offsets.kind !== 'int64' || values.kind !== 'strings') throw new Error('unexpected kinds');
      for (let i = 0; i < rowCount; i++)
        rows.push({
          partition: String(file.partition),
          offset: offsets.getNumber(i),
          value: values.values[i],
        });
    });
    expect(BigInt(count)).toBe(file.recordCount);
  }
  return rows;
}

function writer(io: MemoryFileIO, target: TargetTable): TableWriter {
  return new TableWriter(target, io, new FileNaming(7, 0, 0, 'writer'), NOW, 1024 * 1024);
}

async function write(blocks: TestRecord[][], target: TargetTable, io: MemoryFileIO): Promise<DataFile[]> {
  const table = writer(io, target);
  const block = new RowBlock();
  for (const records of blocks) {
    block.load(topicTargets(target), 0, columnsOf(records));
    table.append(block, 0, records.length);
    await table.settle(64 * 1024);
  }
  return [...(await table.close())];
}

describe('TableWriter', () => {
  it('writes every row once into the file of its partition, however many partitions a block has', async () => {
    const io = new MemoryFileIO();
    const records = Array.from({ length: MAX_OPEN_FILES * 6 }, (_, offset) => ({
      offset,
      ms: ((offset * 7) % 150) * HOUR,
      value: `v${offset}`,
    }));
    const files = await write(
      [records, records.map((r) => ({ ...r, offset: r.offset + 1000 }))],
      bronzeTarget(),
      io,
    );
    const rows = await readBack(io, files);
    expect(rows.map((r) => r.offset).sort((a, b) => a - b)).toEqual([
      ...records.map((r) => r.offset),
      ...records.map((r) => r.offset + 1000),
    ]);
    for (const row of rows) {
      const ms = records[row.offset % 1000].ms;
      const at = new Date(ms).toISOString();
      expect(row.partition).toBe(`${at.slice(0, 10)},${Number(at.slice(11, 13))}`);
      expect(row.value).toBe(`v${row.offset % 1000}`);
    }
  });

  it('agrees with a naive model on random blocks', async () => {
    const record = fc.record({
      ms: fc.option(fc.integer({ min: -5 * HOUR, max: 90 * HOUR }), { nil: null }),
      value: fc.option(fc.string({ maxLength: 20 }), { nil: null }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(record, { maxLength: 120 }), { maxLength: 4 }), async (shapes) => {
        let next = 0;
        const blocks = shapes.map((shape) => shape.map((r) => ({ ...r, offset: next++ })));
        const io = new MemoryFileIO();
        const rows = await readBack(
          io,
          await write(blocks, bronzeTarget({ timeZone: 'Asia/Kathmandu' }), io),
        );
        const found = new Map(rows.map((r) => [r.offset, r]));
        expect(rows.length).toBe(found.size);
        for (const r of blocks.flat()) expect(found.get(r.offset)?.value).toBe(r.value);
        expect(rows.length).toBe(next);
      }),
      { numRuns: 30 },
    );
  });

  it('begins a new file where the target size is reached', async () => {
    const io = new MemoryFileIO();
    const blocks = Array.from({ length: 6 }, (_, b) =>
      Array.from({ length: 500 }, (_, i) => ({
        offset: b * 500 + i,
        ms: 0,
        value: Buffer.from(
          Array.from({ length: 60 }, (_, k) => ((b * 977 + i * 31 + k * 17 + ((i * k) >> 3)) % 95) + 32),
        ).toString(),
      })),
    );
    const files = await write(blocks, bronzeTarget({ targetFileSizeBytes: 20_000 }), io);
    expect(files.length).toBeGreaterThan(2);
    expect((await readBack(io, files)).map((r) => r.offset)).toEqual(
      Array.from({ length: 3000 }, (_, i) => i),
    );
  });

  it('leaves nothing behind when it is given up', async () => {
    const io = new MemoryFileIO();
    const target = bronzeTarget({ targetFileSizeBytes: 1 });
    const table = writer(io, target);
    const block = new RowBlock();
    for (const ms of [0, HOUR, 2 * HOUR]) {
      block.load(topicTargets(target), 0, columnsOf([{ offset: 1, ms }]));
      table.append(block, 0, 1);
      await table.settle(0);
    }
    await table.abort();
    const left = [];
    for await (const file of io.list(target.dataLocation)) left.push(file.path);
    expect(left).toEqual([]);
  });
});

describe('QuarantineWriter', () => {
  it('keeps the exact bytes, the coordinate and the reason', async () => {
    const io = new MemoryFileIO();
    const targets = topicTargets();
    const block = new RowBlock();
    const value = Uint8Array.of(0xff, 0x00, 0x41);
    block.load(targets, 5, columnsOf([{ offset: 41, ms: 1000, value, key: 'k' }]));
    const quarantine = new QuarantineWriter(
      targets.quarantine,
      io,
      new FileNaming(7, 0, 0, 'writer'),
      { batchId: 7, batchTimestampMs: NOW, pipelineName: 'p' },
      { rowGroupBytes: 1024 * 1024, keepBytes: 1024 },
    );
    quarantine.append(block, block.excluded[0]);
    const files = [...(await quarantine.close())];
    expect(files.map((f) => [f.recordCount, f.partition])).toEqual([[1n, [Math.floor(NOW / 86_400_000)]]]);
    await readColumns(
      io,
      files[0].filePath,
      ['topic', 'kafka_partition', 'kafka_offset', 'value', 'key', 'reason', 'batch_id'],
      ({ vectors }) => {
        const read = vectors.map((v) => {
          if (v.kind === 'strings') return v.values[0];
          if (v.kind === 'int64') return v.getBigInt(0);
          if (v.kind === 'int32') return v.values[0];
          return v.kind === 'bytes' ? Buffer.from(v.get(0)!).toString('hex') : undefined;
        });
        expect(read).toEqual(['t', 5, 41n, 'ff0041', '6b', 'INVALID_UTF8', 7n]);
      },
    );
  });
});
