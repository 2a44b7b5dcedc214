import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { PartitionValue } from '../../../src/core/data-file.ts';
import type { PrimitiveType, Schema } from '../../../src/core/schema.ts';
import type { AvroField, AvroSchema } from '../../../src/iceberg/avro-schema.ts';
import { AvroFileWriter } from '../../../src/iceberg/avro-writer.ts';
import { ADDED, EXISTING, ManifestWriter } from '../../../src/iceberg/manifest.ts';
import {
  type ManifestFile,
  readManifestList,
  writeManifestList,
} from '../../../src/iceberg/manifest-list.ts';
import { ManifestMerger } from '../../../src/iceberg/manifest-merge.ts';
import { newTableMetadata, type PartitionSpec, type TableMetadata } from '../../../src/iceberg/metadata.ts';
import { manifestEntries } from '../../../src/iceberg/table-files.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { dataFile } from '../../support/iceberg-fixture.ts';

let io: MemoryFileIO;
beforeEach(() => {
  io = new MemoryFileIO();
});

const ID = { id: 1, name: 'id', required: true, type: 'long' } as const;
const schemaOf = (type: PrimitiveType | undefined): Schema => ({
  type: 'struct',
  schemaId: 0,
  fields: type === undefined ? [ID] : [ID, { id: 2, name: 'source', required: false, type }],
});

function metadataOf(schema: Schema, ...specs: PartitionSpec[]): TableMetadata {
  const table = newTableMetadata({
    tableUuid: 'u',
    location: 'memory://t',
    schema,
    partitionSpec: specs[0],
    properties: { 'commit.manifest.min-count-to-merge': '2' },
    formatVersion: 2,
    nowMs: 1,
  });
  return { ...table, partitionSpecs: specs };
}

const specOf = (transform: string, sourceId = 2, specId = 0): PartitionSpec => ({
  specId,
  fields: [{ sourceId, fieldId: 1000, name: 'p', transform }],
});

/** Two manifests of one file each, as an older snapshot has them. */
async function twoManifests(metadata: TableMetadata, value: PartitionValue): Promise<ManifestFile[]> {
  const manifests: ManifestFile[] = [];
  for (const n of [1n, 2n]) {
    const location = `memory://t/metadata/m${n}.avro`;
    const writer = new ManifestWriter(metadata, metadata.partitionSpecs[0], 0, n, location);
    const file = dataFile(`memory://t/data/${n}.parquet`, [value]);
    writer.add({ status: ADDED, snapshotId: n, sequenceNumber: null, fileSequenceNumber: null, file });
    const { bytes, manifest } = writer.finish();
    await io.createNew(location, bytes);
    manifests.push({ ...manifest, sequenceNumber: n, minSequenceNumber: n });
  }
  return manifests;
}

async function mergeUnder(metadata: TableMetadata, existing: ManifestFile[]): Promise<ManifestFile[]> {
  const merger = new ManifestMerger(io, () => 'memory://t/metadata/merged.avro');
  return merger.merge(metadata, 9n, [], existing);
}

describe('manifests of a spec', () => {
  it.each<[string, string, PrimitiveType, PartitionValue]>([
    ['whose source column is gone', 'identity', 'long', -30n],
    ['whose source column is gone, truncated', 'truncate[10]', 'int', -30],
  ])('%s are not merged, and stay readable', async (_what, transform, type, value) => {
    const existing = await twoManifests(metadataOf(schemaOf(type), specOf(transform)), value);
    const now = metadataOf(schemaOf(undefined), specOf(transform));
    expect(await mergeUnder(now, existing)).toEqual(existing);
    for (const manifest of existing)
      for await (const entry of manifestEntries(io, manifest, now))
        expect(entry.file.partition).toEqual([value]);
  });

  it('of an unknown transform, or one of several columns, are not merged', async () => {
    const written = metadataOf(schemaOf('int'), specOf('identity'));
    const existing = await twoManifests(written, 7);
    for (const spec of [specOf('zorder'), specOf('bucket[16]', -1)])
      expect(await mergeUnder(metadataOf(schemaOf('int'), spec), existing)).toEqual(existing);
  });

  it.each<[string, string, PrimitiveType, PartitionValue]>([
    ['bucket', 'bucket[16]', 'string', 7],
    ['day', 'day', 'timestamptz', -3],
    ['void', 'void', 'uuid', null],
  ])(
    '%s whose source column is gone are merged: the type does not depend on it',
    async (_what, transform, type, value) => {
      const existing = await twoManifests(metadataOf(schemaOf(type), specOf(transform)), value);
      const now = metadataOf(schemaOf(undefined), specOf(transform));
      const [merged, ...others] = await mergeUnder(now, existing);
      expect(others).toEqual([]);
      const partitions: unknown[] = [];
      for await (const entry of manifestEntries(io, merged, now)) partitions.push(entry.file.partition);
      expect(partitions).toEqual([[value], [value]]);
    },
  );

  it('void over a column of a type that is not known here is written', async () => {
    const odd = metadataOf(schemaOf('geometry' as PrimitiveType), specOf('void'));
    expect(await mergeUnder(odd, await twoManifests(odd, null))).toHaveLength(1);
  });

  it('are not kept apart by a neighbour that cannot be merged', async () => {
    const good = specOf('identity');
    const gone = specOf('identity', 99, 1);
    const metadata = metadataOf(schemaOf('string'), good, gone);
    const existing = await twoManifests(metadata, 'x');
    const strange = { ...existing[0], manifestPath: 'memory://t/metadata/strange.avro', partitionSpecId: 1 };
    const result = await mergeUnder(metadata, [strange, ...existing]);
    expect(result.map((m) => [m.partitionSpecId, m.existingFilesCount])).toEqual([
      [1, 0],
      [0, 2],
    ]);
  });
});

describe('manifests of before the file sequence number (Iceberg 1.0 and older)', () => {
  const field = (id: number, name: string, type: AvroSchema): AvroField => ({ name, type, 'field-id': id });
  const partition: AvroSchema = {
    type: 'record',
    name: 'r102',
    fields: [field(1000, 'p', ['null', 'string'])],
  };
  const file: AvroSchema = {
    type: 'record',
    name: 'r2',
    fields: [
      field(100, 'file_path', 'string'),
      field(101, 'file_format', 'string'),
      field(102, 'partition', partition),
      field(103, 'record_count', 'long'),
      field(104, 'file_size_in_bytes', 'long'),
    ],
  };
  const entry: AvroSchema = {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      field(0, 'status', 'int'),
      field(1, 'snapshot_id', ['null', 'long']),
      field(3, 'sequence_number', ['null', 'long']),
      field(2, 'data_file', file),
    ],
  };

  /** An added file and one that exists since snapshot 2. */
  async function oldManifest(like: ManifestFile): Promise<ManifestFile> {
    const manifestPath = 'memory://t/metadata/old.avro';
    const avro = new AvroFileWriter(manifestPath, entry, {});
    for (const [status, snapshotId, sequenceNumber] of [
      [ADDED, null, null],
      [EXISTING, 2n, 2n],
    ] as const) {
      avro.record((w) => {
        w.int(status);
        w.optional(snapshotId, (id) => w.long(id));
        w.optional(sequenceNumber, (n) => w.long(n));
        w.string(`memory://t/data/old-${status}.parquet`);
        w.string('PARQUET');
        w.optional('x', (value) => w.string(value));
        w.long(10n);
        w.long(1000n);
      });
    }
    const { rest, size } = avro.finish();
    await io.createNew(manifestPath, rest);
    const numbers = { addedSnapshotId: 5n, sequenceNumber: 5n, minSequenceNumber: 2n };
    return { ...like, ...numbers, manifestPath, manifestLength: BigInt(size), existingFilesCount: 1 };
  }

  it('are read, merged and read again: what is not known stays null', async () => {
    const metadata = metadataOf(schemaOf('string'), specOf('identity'));
    const newer = await twoManifests(metadata, 'x');
    const existing = [await oldManifest(newer[0]), ...newer];
    const [merged, ...others] = await mergeUnder(metadata, existing);
    expect(others).toEqual([]);
    const numbers: unknown[] = [];
    for (const manifest of [existing[0], { ...merged, sequenceNumber: 9n }])
      for await (const e of manifestEntries(io, manifest, metadata))
        numbers.push([e.status, e.sequenceNumber, e.fileSequenceNumber]);
    expect(numbers).toEqual([
      [ADDED, 5n, 5n],
      [EXISTING, 2n, null],
      [EXISTING, 5n, 5n],
      [EXISTING, 2n, null],
      [EXISTING, 1n, 1n],
      [EXISTING, 2n, 2n],
    ]);
  });
});

describe('manifests whose list tells no counts (version 1)', () => {
  const uncounted = (manifest: ManifestFile): ManifestFile => ({
    ...manifest,
    addedFilesCount: null,
    existingFilesCount: null,
    deletedFilesCount: null,
    addedRowsCount: null,
    existingRowsCount: null,
    deletedRowsCount: null,
  });
  const list = (manifests: ManifestFile[]) => ({
    location: 'memory://t/metadata/list.avro',
    formatVersion: 2 as const,
    snapshotId: 9n,
    parentSnapshotId: 2n,
    sequenceNumber: 9n,
    firstRowId: 0n,
    manifests,
  });

  it('are counted, merged or not, so that no reader passes them over', async () => {
    const table = metadataOf(schemaOf('string'), specOf('identity'));
    for (const enabled of ['true', 'false']) {
      io = new MemoryFileIO();
      const metadata = { ...table, properties: { 'commit.manifest-merge.enabled': enabled } };
      const existing = await twoManifests(metadata, 'x');
      const result = await mergeUnder(metadata, existing.map(uncounted));
      const { bytes } = writeManifestList(list(result));
      const read = readManifestList(bytes, '').map((m) => [
        [m.addedFilesCount, m.existingFilesCount, m.deletedFilesCount],
        [m.addedRowsCount, m.existingRowsCount, m.deletedRowsCount],
      ]);
      const one = [
        [1, 0, 0],
        [10n, 0n, 0n],
      ];
      expect(read).toEqual([one, one]);
    }
  });

  it('are read once for all attempts', async () => {
    const metadata = metadataOf(schemaOf('string'), specOf('identity'));
    const existing = (await twoManifests(metadata, 'x')).map(uncounted);
    const read = vi.spyOn(io, 'read');
    const merger = new ManifestMerger(io, () => 'memory://t/metadata/merged.avro');
    await merger.merge(metadata, 9n, [], existing);
    const reads = read.mock.calls.length;
    await merger.merge(metadata, 9n, [], existing);
    expect(read.mock.calls.length).toBe(reads);
  });

  it('are never listed without', () => {
    const manifest = { manifestPath: 'm', sequenceNumber: 1n, minSequenceNumber: 1n } as ManifestFile;
    const whole = { ...manifest, manifestLength: 1n, partitionSpecId: 0, content: 0, addedSnapshotId: 1n };
    expect(() => writeManifestList(list([uncounted(whole as ManifestFile)]))).toThrow('without its counts');
  });
});
