import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DataFile } from '../../../src/core/data-file.ts';
import { PackedDataFiles, totalsOfFiles } from '../../../src/core/packed-data-files.ts';
import { dataFile } from '../../support/data-file-arbitrary.ts';

function fileNumber(i: number): DataFile {
  const counts = new Map([1, 2, 3].map((id) => [id, BigInt(i * id)]));
  const bounds = new Map([1, 2].map((id) => [id, Uint8Array.of(i & 0xff, id)]));
  return {
    content: 0,
    filePath: `file:///warehouse/t/data/dt=2026-01-01/hour=${i % 24}/00000000-00-0-writer-${i}.parquet`,
    fileFormat: 'PARQUET',
    partition: ['2026-01-01', i % 24],
    specId: 0,
    sortOrderId: 0,
    recordCount: BigInt(i),
    fileSizeInBytes: BigInt(1000 + i),
    columnSizes: counts,
    valueCounts: counts,
    nullValueCounts: counts,
    nanValueCounts: new Map(),
    lowerBounds: bounds,
    upperBounds: bounds,
    splitOffsets: [4n],
  };
}

describe('PackedDataFiles', () => {
  it('gives back what was put in, whatever it is', () => {
    fc.assert(
      fc.property(fc.array(dataFile, { maxLength: 5 }), (files) => {
        const packed = PackedDataFiles.of(files);
        expect(packed.length).toBe(files.length);
        expect([...packed]).toEqual(files);
        expect(totalsOfFiles(packed)).toMatchObject(totalsOfFiles(files));
      }),
    );
  });

  it('keeps the order of what stands by field id', () => {
    const file = { ...fileNumber(1), columnSizes: new Map([7, 1, 300, 2].map((id) => [id, BigInt(id)])) };
    expect([...[...PackedDataFiles.of([file])][0].columnSizes.keys()]).toEqual([7, 1, 300, 2]);
  });

  it('holds tens of thousands of files in a few hundred bytes each', () => {
    const files = Array.from({ length: 20_000 }, (_, i) => fileNumber(i));
    const packed = PackedDataFiles.of(files);
    expect(packed.heldBytes / files.length).toBeLessThan(200);
    expect([...packed]).toEqual(files);
  });

  it('crosses to another thread without a copy, and goes on there', () => {
    const files = Array.from({ length: 2000 }, (_, i) => fileNumber(i));
    const plain = PackedDataFiles.of(files.slice(0, 1500)).toPlain();
    const arrived = structuredClone(plain, { transfer: plain.blocks.map((b) => b.buffer as ArrayBuffer) });
    expect(plain.blocks.every((b) => b.length === 0)).toBe(true);
    const packed = new PackedDataFiles(arrived);
    for (const file of files.slice(1500, 1700)) packed.add(file);
    packed.addAll(PackedDataFiles.of(files.slice(1700)));
    expect([...packed]).toEqual(files);
    expect(packed.length).toBe(2000);
    expect(packed.rows).toBe((2000n * 1999n) / 2n);
  });
});
