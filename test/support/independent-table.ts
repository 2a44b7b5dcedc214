/**
 * Reads an Iceberg table of a SQLite or file catalog without a line of Sluice's own code: `node:sqlite`, JSON.parse, avsc for lists
 * and manifests, hyparquet for data files.
 */
import { readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import avsc from 'avsc';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

/** The bytes behind a location of the metadata. */
export type ReadLocation = (location: string) => Promise<Uint8Array>;

export interface TableSnapshot {
  id: bigint;
  parentId: bigint | null;
  sequenceNumber: number;
  summary: Record<string, string>;
}

export interface IndependentTable {
  uuid: string;
  location: string;
  properties: Record<string, string>;
  currentSnapshotId: bigint | null;
  /** Along `main`, oldest first. */
  history: TableSnapshot[];
  /** Data files that the head refers to. */
  files: { path: string; records: bigint; bytes: bigint }[];
  rows: Record<string, unknown>[];
}

/** Every field of the schemas of this version's tables that holds bytes. */
interface ManifestEntry {
  status: number;
  data_file: { content: number; file_path: string; record_count: bigint; file_size_in_bytes: bigint };
}

const long = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
});

/** Undefined where the catalog has no table of that name. */
export async function readIndependently(
  catalogFile: string,
  table: string,
  readLocation: ReadLocation = fromDisk,
): Promise<IndependentTable | undefined> {
  const pointer = metadataLocation(catalogFile, table);
  if (pointer === undefined) return undefined;
  const metadata = parseJson(Buffer.from(await readLocation(pointer)).toString('utf8'));
  const snapshots = new Map<bigint, Record<string, unknown>>(
    (metadata.snapshots ?? []).map((s: Record<string, unknown>) => [BigInt(s['snapshot-id'] as number), s]),
  );
  const current = metadata['current-snapshot-id'];
  const head = current === undefined || current === null || Number(current) === -1 ? null : BigInt(current);
  const result: IndependentTable = {
    uuid: metadata['table-uuid'],
    location: metadata.location,
    properties: metadata.properties ?? {},
    currentSnapshotId: head,
    history: historyOf(snapshots, head),
    files: [],
    rows: [],
  };
  if (head === null) return result;
  const list = snapshots.get(head)!['manifest-list'] as string;
  for (const manifest of await readAvro<{ manifest_path: string }>(await readLocation(list))) {
    for (const entry of await readAvro<ManifestEntry>(await readLocation(manifest.manifest_path))) {
      const file = entry.data_file;
      if (entry.status === 2) continue;
      if (file.content !== 0) throw new Error(`${table}: ${file.file_path} is no data file`);
      result.files.push({
        path: file.file_path,
        records: file.record_count,
        bytes: file.file_size_in_bytes,
      });
    }
  }
  for (const file of result.files) result.rows.push(...(await readDataFile(file, readLocation)));
  return result;
}

async function readDataFile(
  file: IndependentTable['files'][number],
  readLocation: ReadLocation,
): Promise<Record<string, unknown>[]> {
  const bytes = await readLocation(file.path);
  if (BigInt(bytes.length) !== file.bytes)
    throw new Error(`${file.path} has ${bytes.length} bytes, its manifest says ${file.bytes}`);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  const metadata = parquetMetadata(buffer);
  if (metadata.num_rows !== file.records)
    throw new Error(`${file.path} has ${metadata.num_rows} rows, its manifest says ${file.records}`);
  return parquetReadObjects({
    file: buffer,
    metadata,
    compressors,
    utf8: false,
    // Microseconds and bytes as they are: dates of JavaScript would round.
    parsers: {
      timestampFromMilliseconds: (ms: bigint) => ms * 1000n,
      timestampFromMicroseconds: (us: bigint) => us,
      timestampFromNanoseconds: (ns: bigint) => ns / 1000n,
      dateFromDays: (days: number) => days,
      stringFromBytes: (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('utf8'),
    } as never,
  });
}

/** `catalogFile`: the database, or the warehouse of a file catalog, whose newest version counts. */
function metadataLocation(catalogFile: string, table: string): string | undefined {
  if (statSync(catalogFile).isDirectory()) {
    const directory = join(catalogFile, ...table.split('.'), 'metadata');
    const versions = readdirSync(directory).flatMap((n) => /^v(\d+)\.metadata\.json$/.exec(n)?.[1] ?? []);
    const newest = Math.max(0, ...versions.map(Number));
    return newest === 0 ? undefined : join(directory, `v${newest}.metadata.json`);
  }
  const at = table.lastIndexOf('.');
  // Not read-only: where a writer was killed inside a transaction, SQLite must first roll it back.
  const database = new DatabaseSync(catalogFile);
  try {
    const row = database
      .prepare('SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?')
      .get(table.slice(0, at), table.slice(at + 1));
    return row?.metadata_location as string | undefined;
  } finally {
    database.close();
  }
}

function historyOf(snapshots: Map<bigint, Record<string, unknown>>, head: bigint | null): TableSnapshot[] {
  const history: TableSnapshot[] = [];
  for (let id = head; id !== null; ) {
    const snapshot = snapshots.get(id);
    if (snapshot === undefined) break;
    const parent = snapshot['parent-snapshot-id'];
    const parentId = parent === undefined || parent === null ? null : BigInt(parent as number);
    history.unshift({
      id,
      parentId,
      sequenceNumber: Number(snapshot['sequence-number']),
      summary: snapshot.summary as Record<string, string>,
    });
    id = parentId;
  }
  return history;
}

// biome-ignore lint/suspicious/noExplicitAny: foreign JSON, looked at field by field.
function parseJson(text: string): any {
  return JSON.parse(text, ((_key: string, value: unknown, context: { source: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value)
      ? BigInt(context.source)
      : value) as never);
}

function readAvro<T>(bytes: Uint8Array): Promise<T[]> {
  return new Promise((resolve, reject) => {
    const decoder = new avsc.streams.BlockDecoder({
      parseHook: (schema: unknown) =>
        avsc.Type.forSchema(schema as never, { typeHook: longsAsBigInts } as never),
    } as never);
    const records: T[] = [];
    decoder.on('data', (record: T) => records.push(record));
    decoder.on('error', reject);
    decoder.on('end', () => resolve(records));
    decoder.end(Buffer.from(bytes));
  });
}

function fromDisk(location: string): Promise<Uint8Array> {
  return readFile(location.replace(/^file:\/\//, ''));
}

function longsAsBigInts(schema: unknown): unknown {
  const type = typeof schema === 'object' && schema !== null ? (schema as { type: unknown }).type : schema;
  return type === 'long' ? long : undefined;
}
