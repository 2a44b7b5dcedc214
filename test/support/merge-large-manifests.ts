/**
 * Writes manifests of very many entries with wide metrics into a directory, merges them and reads the merged one back.
 * A process of its own, so that the caller can give it little memory: `node --max-old-space-size=N
 * merge-large-manifests.ts DIRECTORY MANIFESTS ENTRIES`. Prints one line of JSON, a `Merged`.
 */
import { fileURLToPath } from 'node:url';
import type { Schema } from '../../src/core/schema.ts';
import { ADDED, ManifestWriter } from '../../src/iceberg/manifest.ts';
import type { ManifestFile } from '../../src/iceberg/manifest-list.ts';
import { ManifestMerger } from '../../src/iceberg/manifest-merge.ts';
import { newTableMetadata, type TableMetadata } from '../../src/iceberg/metadata.ts';
import { buildPartitionSpec } from '../../src/iceberg/partition.ts';
import { manifestEntries } from '../../src/iceberg/table-files.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { dataFile } from './iceberg-fixture.ts';

export interface Merged {
  /** Sizes of the manifests that were merged, and of what came of them. */
  sourceBytes: number[];
  mergedBytes: number;
  entries: number;
  rows: string;
  /** The most bytes of one read of a manifest, and of one write to the merged one. */
  largestRead: number;
  largestWrite: number;
  maxRssBytes: number;
}

const SCHEMA: Schema = {
  type: 'struct',
  schemaId: 0,
  fields: [
    { id: 1, name: 'value', required: false, type: 'string' },
    { id: 2, name: 'key', required: false, type: 'binary' },
    { id: 3, name: 'topic', required: true, type: 'string' },
    { id: 4, name: 'kafka_partition', required: true, type: 'int' },
    { id: 5, name: 'kafka_offset', required: true, type: 'long' },
    { id: 6, name: 'kafka_timestamp', required: false, type: 'timestamptz' },
    { id: 7, name: 'ingested_at', required: true, type: 'timestamptz' },
    { id: 8, name: 'dt', required: false, type: 'string' },
    { id: 9, name: 'hour', required: false, type: 'int' },
  ],
};

/** Bounds that do not compress: a generator of 32 bits with a fixed seed. */
let state = 7;
function random(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

const ids = SCHEMA.fields.map((f) => f.id);

async function writeManifest(
  io: FileIO,
  metadata: TableMetadata,
  location: string,
  snapshotId: bigint,
  entries: number,
): Promise<ManifestFile> {
  const writer = new ManifestWriter(metadata, metadata.partitionSpecs[0], 0, snapshotId, location);
  const output = await io.create(location);
  for (let n = 0; n < entries; n++) {
    const count = BigInt(1000 + (n % 77));
    const file = {
      ...dataFile(`file:///w/orders/data/dt=2026-01-01/hour=7/${snapshotId}-${n}.parquet`, [
        '2026-01-01',
        n % 24,
      ]),
      columnSizes: new Map(ids.map((id) => [id, BigInt(state >>> 12)])),
      valueCounts: new Map(ids.map((id) => [id, count])),
      nullValueCounts: new Map(ids.map((id) => [id, 0n])),
      lowerBounds: new Map(ids.map((id) => [id, random(8)])),
      upperBounds: new Map(ids.map((id) => [id, random(8)])),
    };
    writer.add({ status: ADDED, snapshotId, sequenceNumber: null, fileSequenceNumber: null, file });
    if (writer.waiting > 65_536) await output.write(writer.take());
  }
  const { bytes, manifest } = writer.finish();
  await output.write(bytes);
  await output.close();
  return { ...manifest, sequenceNumber: snapshotId, minSequenceNumber: snapshotId };
}

/** Passes everything on and notes the sizes. */
function measured(io: FileIO, sizes: { read: number; write: number }): FileIO {
  return {
    read: async (path, range) => {
      const bytes = await io.read(path, range);
      sizes.read = Math.max(sizes.read, bytes.length);
      return bytes;
    },
    create: async (path) => {
      const output = await io.create(path);
      return {
        path,
        get position() {
          return output.position;
        },
        write: (bytes) => {
          sizes.write = Math.max(sizes.write, bytes.length);
          return output.write(bytes);
        },
        close: () => output.close(),
        abort: () => output.abort(),
      };
    },
    stat: (path) => io.stat(path),
    children: (directory) => io.children(directory),
    createNew: (path, bytes) => io.createNew(path, bytes),
    replace: (path, bytes) => io.replace(path, bytes),
    list: (directory) => io.list(directory),
    delete: (path) => io.delete(path),
  };
}

async function main(directory: string, manifests: number, entries: number): Promise<Merged> {
  const io = new LocalFileIO();
  const metadata = newTableMetadata({
    tableUuid: 'u',
    location: directory,
    schema: SCHEMA,
    partitionSpec: buildPartitionSpec(['dt', 'hour'], SCHEMA),
    properties: {
      'commit.manifest.min-count-to-merge': '2',
      'commit.manifest.target-size-bytes': String(1024 ** 3),
    },
    formatVersion: 2,
    nowMs: 1,
  });
  const sources: ManifestFile[] = [];
  for (let n = 1; n <= manifests; n++)
    sources.push(await writeManifest(io, metadata, `${directory}/m${n}.avro`, BigInt(n), entries));
  const sizes = { read: 0, write: 0 };
  const merger = new ManifestMerger(measured(io, sizes), () => `${directory}/merged.avro`);
  const [merged] = await merger.merge(metadata, 99n, [], sources);
  const result = { ...merged, sequenceNumber: 99n };
  let found = 0;
  let rows = 0n;
  for await (const entry of manifestEntries(measured(io, sizes), result, metadata)) {
    found++;
    rows += entry.file.recordCount;
  }
  return {
    sourceBytes: sources.map((m) => Number(m.manifestLength)),
    mergedBytes: Number(merged.manifestLength),
    entries: found,
    rows: String(rows),
    largestRead: sizes.read,
    largestWrite: sizes.write,
    maxRssBytes: process.resourceUsage().maxRSS * 1024,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory, manifests, entries] = process.argv.slice(2);
  process.stdout.write(`${JSON.stringify(await main(directory, Number(manifests), Number(entries)))}\n`);
}
