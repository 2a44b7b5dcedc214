import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import type { DataFile } from '../../../src/core/data-file.ts';
import { readAvroFile } from '../../../src/iceberg/avro-file.ts';
import { AvroFileWriter } from '../../../src/iceberg/avro-writer.ts';
import {
  ADDED,
  DELETED,
  EXISTING,
  type ManifestEntry,
  ManifestWriter,
} from '../../../src/iceberg/manifest.ts';
import {
  type ManifestFile,
  readManifestList,
  writeManifestList,
} from '../../../src/iceberg/manifest-list.ts';
import { packFromEnd } from '../../../src/iceberg/manifest-merge.ts';
import { ManifestReader } from '../../../src/iceberg/manifest-reader.ts';
import { avroName, decimalFixedLength } from '../../../src/iceberg/manifest-schema.ts';
import { newTableMetadata, type TableMetadata } from '../../../src/iceberg/metadata.ts';
import { dataFile, ORDERS_SCHEMA, ordersRequest } from '../../support/iceberg-fixture.ts';

const PATH = 'memory://t/metadata/m.avro';
const metadataOf = (formatVersion: 2 | 3 = 2): TableMetadata =>
  newTableMetadata({
    tableUuid: 'u',
    location: 'memory://t',
    schema: ORDERS_SCHEMA,
    partitionSpec: ordersRequest().partitionSpec,
    properties: {},
    formatVersion,
    nowMs: 1,
  });

const entry = (status: 0 | 1 | 2, file: DataFile, sequence: bigint | null = null): ManifestEntry => ({
  status,
  snapshotId: 6917529027641081857n,
  sequenceNumber: sequence,
  fileSequenceNumber: sequence,
  file,
});

function write(
  entries: ManifestEntry[],
  metadata = metadataOf(),
): { bytes: Uint8Array; manifest: ManifestFile } {
  const writer = new ManifestWriter(metadata, metadata.partitionSpecs[0], 0, 6917529027641081857n, PATH);
  for (const e of entries) writer.add(e);
  return writer.finish();
}

function readManifest(bytes: Uint8Array, manifest: ManifestFile, metadata: TableMetadata): ManifestEntry[] {
  const reader = new ManifestReader(manifest, metadata);
  reader.push(bytes);
  const entries = [...reader.entries()];
  reader.end();
  return entries;
}

describe('manifests', () => {
  const full: DataFile = {
    ...dataFile('memory://t/data/a b%é.parquet', ['2026-01-01', 23], 2n ** 40n),
    columnSizes: new Map([[1, 2n ** 62n]]),
    nanValueCounts: new Map([[9, 1n]]),
    lowerBounds: new Map([
      [1, Uint8Array.of(0)],
      [2, new Uint8Array(0)],
    ]),
    splitOffsets: [4n, 2n ** 33n],
    sortOrderId: 0,
    keyMetadata: Uint8Array.of(1, 2),
  };

  it('come back as they were written, with what they inherit', () => {
    const { bytes, manifest } = write([
      entry(ADDED, full),
      entry(EXISTING, dataFile('memory://t/b', [null, null]), 3n),
      entry(DELETED, dataFile('memory://t/c'), 2n),
    ]);
    expect(manifest).toMatchObject({
      addedFilesCount: 1,
      existingFilesCount: 1,
      deletedFilesCount: 1,
      addedRowsCount: 2n ** 40n,
      existingRowsCount: 10n,
      deletedRowsCount: 10n,
      sequenceNumber: -1n,
      minSequenceNumber: 3n,
      manifestLength: BigInt(bytes.length),
    });
    expect(manifest.partitions).toEqual(
      [
        {
          containsNull: true,
          containsNan: false,
          lowerBound: Buffer.from('2026-01-01'),
          upperBound: Buffer.from('2026-01-01'),
        },
        {
          containsNull: true,
          containsNan: false,
          lowerBound: Uint8Array.of(0, 0, 0, 0),
          upperBound: Uint8Array.of(23, 0, 0, 0),
        },
      ].map((s) => ({
        ...s,
        lowerBound: new Uint8Array(s.lowerBound),
        upperBound: new Uint8Array(s.upperBound),
      })),
    );
    const read = readManifest(bytes, { ...manifest, sequenceNumber: 7n }, metadataOf());
    expect(read[0]).toEqual({ ...entry(ADDED, full), sequenceNumber: 7n, fileSequenceNumber: 7n });
    expect(read[1]).toMatchObject({
      status: EXISTING,
      sequenceNumber: 3n,
      file: { partition: [null, null] },
    });
    expect(read[2]).toMatchObject({ status: DELETED, sequenceNumber: 2n });
  });

  it('the header keeps field ids and logical types, and says what the specification asks for', () => {
    const { bytes } = write([entry(ADDED, full)]);
    const { metadata } = readAvroFile(bytes, PATH);
    const text = (key: string): string => Buffer.from(metadata.get(key)!).toString();
    expect(text('format-version')).toBe('2');
    expect(text('content')).toBe('data');
    expect(text('schema-id')).toBe('0');
    expect(text('partition-spec-id')).toBe('0');
    expect(JSON.parse(text('partition-spec'))).toEqual([
      { 'source-id': 3, 'field-id': 1000, name: 'dt', transform: 'identity' },
      { 'source-id': 4, 'field-id': 1001, name: 'hour', transform: 'identity' },
    ]);
    expect(JSON.parse(text('schema')).fields).toHaveLength(4);
    const ids = [...text('avro.schema').matchAll(/"(?:field|element)-id":(\d+)/g)].map((m) => Number(m[1]));
    expect(ids).toEqual(
      expect.arrayContaining([0, 1, 2, 3, 4, 100, 102, 1000, 1001, 108, 117, 118, 132, 133, 140]),
    );
    expect(text('avro.schema')).toContain('"logicalType":"map"');
  });

  it('are read by avsc, an Avro library of others', async () => {
    const { bytes } = write([entry(ADDED, full), entry(ADDED, dataFile('memory://t/b'))]);
    const decoder = new avro.streams.BlockDecoder({
      parseHook: (schema) => avro.Type.forSchema(schema, { registry: { long: longType } }),
    });
    const records: { data_file: { file_path: string; partition: object; record_count: bigint } }[] = [];
    decoder.on('data', (r) => records.push(r));
    const ended = new Promise((resolve, reject) => decoder.on('end', resolve).on('error', reject));
    decoder.end(Buffer.from(bytes));
    await ended;
    expect(records.map((r) => r.data_file.file_path)).toEqual([
      'memory://t/data/a b%é.parquet',
      'memory://t/b',
    ]);
    expect(records[0].data_file.record_count).toBe(2n ** 40n);
    expect({ ...records[1].data_file.partition }).toEqual({ dt: '2026-01-01', hour: 0 });
  });

  it('v3: row ids are inherited by files without one, deleted ones left out', () => {
    const own = { ...dataFile('memory://t/own'), firstRowId: 500n };
    const { bytes, manifest } = write(
      [
        entry(ADDED, dataFile('memory://t/a')),
        entry(EXISTING, own, 1n),
        entry(DELETED, dataFile('memory://t/gone'), 1n),
        entry(ADDED, dataFile('memory://t/b')),
      ],
      metadataOf(3),
    );
    const ids = (m: ManifestFile): (bigint | undefined)[] =>
      readManifest(bytes, m, metadataOf(3)).map((e) => e.file.firstRowId);
    expect(ids({ ...manifest, sequenceNumber: 2n, firstRowId: 1000n })).toEqual([
      1000n,
      500n,
      undefined,
      1010n,
    ]);
    expect(ids({ ...manifest, sequenceNumber: 2n })).toEqual([undefined, 500n, undefined, undefined]);
  });

  it('an entry that is not new keeps its sequence numbers or is refused', () => {
    expect(() => write([entry(EXISTING, full)])).toThrow('needs its sequence number');
    expect(() => write([entry(ADDED, { ...full, partition: ['2026-01-01'] })])).toThrow(
      '1 partition values for a spec of 2 fields',
    );
  });

  it('partition names that Avro does not allow, and widths of decimals', () => {
    expect(avroName('a.b')).toBe('a_x2Eb');
    expect(avroName('1st')).toBe('_1st');
    expect(avroName('é')).toBe('_xE9');
    expect([1, 2, 3, 9, 10, 18, 19, 38].map(decimalFixedLength)).toEqual([1, 1, 2, 4, 5, 8, 9, 16]);
  });
});

/** longs of avsc as bigint. */
const longType = avro.types.LongType.__with({
  fromBuffer: (b: Buffer) => b.readBigInt64LE(),
  toBuffer: (n: bigint) => {
    const b = Buffer.alloc(8);
    b.writeBigInt64LE(n);
    return b;
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (n: unknown) => typeof n === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
});

describe('manifest lists', () => {
  const manifest = write([entry(ADDED, dataFile('memory://t/a'))]).manifest;
  const request = {
    location: 'memory://t/l.avro',
    formatVersion: 2 as const,
    snapshotId: 6917529027641081857n,
    parentSnapshotId: null,
    sequenceNumber: 9n,
    firstRowId: 0n,
  };

  it('give new manifests the number of the commit and keep the others', () => {
    const old = {
      ...manifest,
      manifestPath: 'memory://t/old.avro',
      addedSnapshotId: 1n,
      sequenceNumber: 3n,
      minSequenceNumber: 2n,
      content: 1 as const,
    };
    const { bytes, manifests } = writeManifestList({ ...request, manifests: [manifest, old] });
    const read = readManifestList(bytes, request.location);
    expect(read).toEqual(manifests);
    expect(read.map((m) => [m.sequenceNumber, m.minSequenceNumber, m.content])).toEqual([
      [9n, 9n, 0],
      [3n, 2n, 1],
    ]);
    expect(() =>
      writeManifestList({ ...request, manifests: [{ ...manifest, addedSnapshotId: 5n }] }),
    ).toThrow('has no sequence number');
  });

  it('v3: first row ids by the rows, only for data manifests that have none', () => {
    const has = { ...manifest, firstRowId: 77n };
    const deletes = { ...manifest, content: 1 as const };
    const { bytes, nextRowId } = writeManifestList({
      ...request,
      formatVersion: 3,
      firstRowId: 100n,
      manifests: [manifest, has, deletes, { ...manifest, existingRowsCount: 5n }],
    });
    expect(readManifestList(bytes, '').map((m) => m.firstRowId)).toEqual([100n, 77n, null, 110n]);
    expect(nextRowId).toBe(125n);
  });
});

describe('packing from the end', () => {
  it('fills the last bins, the first stays small', () => {
    const sizes = (bins: ManifestFile[][]): number[][] =>
      bins.map((b) => b.map((m) => Number(m.manifestLength)));
    const of = (...lengths: number[]): ManifestFile[] =>
      lengths.map((n) => ({ manifestLength: BigInt(n) }) as ManifestFile);
    expect(sizes(packFromEnd(of(1, 2, 3, 4, 5), 9))).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(sizes(packFromEnd(of(10, 1, 10), 9))).toEqual([[10], [1], [10]]);
    expect(sizes(packFromEnd(of(), 9))).toEqual([]);
  });
});

describe('bytes that are no manifest', () => {
  const { bytes, manifest } = write([
    entry(ADDED, dataFile('memory://t/a')),
    entry(ADDED, dataFile('memory://t/b')),
  ]);
  const read = (b: Uint8Array): unknown => readManifest(b, { ...manifest, sequenceNumber: 1n }, metadataOf());

  it('cut at every byte: METADATA_INVALID, or the whole records before a block', () => {
    for (let length = 0; length < bytes.length; length++) {
      try {
        // A file without blocks is a whole, empty file.
        expect(read(bytes.subarray(0, length))).toEqual([]);
      } catch (e) {
        expect((e as { code: string }).code).toBe('METADATA_INVALID');
      }
    }
  });

  it('a bit flipped anywhere: a clear error or other values, never a hang or another kind of failure', () => {
    let refused = 0;
    for (let i = 0; i < bytes.length * 8; i += 3) {
      const flipped = bytes.slice();
      flipped[i >> 3] ^= 1 << (i & 7);
      try {
        read(flipped);
      } catch (e) {
        refused++;
        expect(['METADATA_INVALID', 'UNSUPPORTED'], String(e)).toContain((e as { code: string }).code);
      }
    }
    expect(refused).toBeGreaterThan(bytes.length);
  });

  it('counts and lengths of more than there is', () => {
    const huge = Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    const w = new AvroFileWriter(
      'x',
      {
        type: 'record',
        name: 'r',
        fields: [{ name: 'a', type: { type: 'array', items: 'null' }, 'field-id': 1 }],
      },
      {},
    );
    w.record((out) => out.raw(huge));
    expect(() => readAvroFile(w.finish().rest, 'x')).toThrow(
      'METADATA_INVALID: x is not a whole Avro file: a count of',
    );
    const strings = new AvroFileWriter(
      'x',
      { type: 'record', name: 'r', fields: [{ name: 'a', type: 'string', 'field-id': 1 }] },
      {},
    );
    strings.record((out) => out.raw(huge));
    expect(() => readAvroFile(strings.finish().rest, 'x')).toThrow('a length of');
    const recursive = new AvroFileWriter(
      'x',
      { type: 'record', name: 'r', fields: [{ name: 'a', type: ['null', 'r'], 'field-id': 1 }] },
      {},
    );
    recursive.record((out) => out.raw(new Uint8Array(5000).fill(2)));
    expect(() => readAvroFile(recursive.finish().rest, 'x')).toThrow('nested too deep');
  });

  it('a codec that is not known is named', () => {
    const w = new AvroFileWriter('x', { type: 'record', name: 'r', fields: [] }, { 'avro.codec': 'bzip2' });
    w.record((out) => out.int(1));
    expect(() => readAvroFile(w.finish().rest, 'x')).toThrow(
      'UNSUPPORTED: a manifest is compressed by the Avro codec "bzip2"',
    );
  });
});
