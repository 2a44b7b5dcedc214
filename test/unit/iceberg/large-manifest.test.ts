import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { AvroRecord } from '../../../src/iceberg/avro-decode.ts';
import { AvroFileDecoder, readAvroFile } from '../../../src/iceberg/avro-file.ts';
import { AvroFileWriter } from '../../../src/iceberg/avro-writer.ts';
import type { Merged } from '../../support/merge-large-manifests.ts';

const SCRIPT = fileURLToPath(new URL('../../support/merge-large-manifests.ts', import.meta.url));
const MIB = 1024 * 1024;

it('manifests of many megabytes are merged and read in a heap that could not hold one of them', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-merge-'));
  try {
    // 16,000 entries with the bounds of nine columns are some 250 MB of objects.
    const heap = '--max-old-space-size=40';
    const text = execFileSync(process.execPath, [heap, SCRIPT, directory, '2', '8000'], { encoding: 'utf8' });
    const merged = JSON.parse(text) as Merged;
    expect(merged).toMatchObject({ entries: 16_000, rows: '160000' });
    expect(merged.mergedBytes).toBeGreaterThan(3 * MIB);
    expect(merged.largestRead).toBeLessThanOrEqual(MIB);
    expect(merged.largestWrite).toBeLessThanOrEqual(MIB / 2);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

function file(records: number): Uint8Array {
  const writer = new AvroFileWriter(
    'x',
    {
      type: 'record',
      name: 'r',
      fields: [
        { name: 'n', type: 'long', 'field-id': 1 },
        { name: 'text', type: 'string', 'field-id': 2 },
      ],
    },
    { key: 'value' },
  );
  for (let n = 0; n < records; n++)
    writer.record((w) => {
      w.long(BigInt(n) * 2n ** 40n);
      w.string(`${'x'.repeat(n % 7)}é`.repeat(1000));
    });
  return writer.finish().rest;
}

const bytes = file(40);
const whole = readAvroFile(bytes, 'x').records;

it.each([1, 2, 3, 17, 1000, 100_000])('a file in pieces of %i bytes gives the same records', (size) => {
  const decoder = new AvroFileDecoder('x');
  const records: AvroRecord[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    decoder.push(bytes.subarray(at, at + size));
    records.push(...decoder.records());
  }
  decoder.end();
  expect(whole).toHaveLength(40);
  expect(records).toEqual(whole);
  expect(Buffer.from(decoder.metadata!.get('key')!).toString()).toBe('value');
});

it('records of whole blocks come before the end is known to be missing', () => {
  const decoder = new AvroFileDecoder('x');
  decoder.push(bytes.subarray(0, bytes.length - 1));
  const found = [...decoder.records()];
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(40);
  expect(() => decoder.end()).toThrow('METADATA_INVALID: x is not a whole Avro file');
});

it('what is no Avro file is told at the first piece, and a block that is too large at its length', () => {
  const no = new AvroFileDecoder('x');
  no.push(Buffer.from('PAR1'));
  expect(() => [...no.records()]).toThrow('it does not begin with "Obj" 1');
  const huge = new AvroFileDecoder('x');
  huge.push(file(0));
  expect([...huge.records()]).toEqual([]);
  // 1 record in 2^40 bytes.
  huge.push(Uint8Array.of(2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40));
  expect(() => [...huge.records()]).toThrow('a block of 1099511627776 bytes');
});
