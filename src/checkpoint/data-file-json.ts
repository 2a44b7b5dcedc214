/** DataFile to JSON and back: maps by field id become objects, bytes base64, 64-bit integers digits. */
import type { DataFile, PartitionValue } from '../core/data-file.ts';
import { asBigInt } from '../core/json64.ts';
import { decodeBase64, encodeBase64, JsonObject } from './json-fields.ts';
import { excerpt, Malformed } from './malformed.ts';

const identity = (v: bigint): unknown => v;

export function encodeDataFile(file: DataFile): Record<string, unknown> {
  return {
    content: file.content,
    filePath: file.filePath,
    fileFormat: file.fileFormat,
    partition: file.partition.map(encodePartitionValue),
    specId: file.specId,
    sortOrderId: file.sortOrderId,
    equalityIds: file.equalityIds,
    keyMetadata: file.keyMetadata === undefined ? undefined : encodeBase64(file.keyMetadata),
    referencedDataFile: file.referencedDataFile,
    contentOffset: file.contentOffset,
    contentSizeInBytes: file.contentSizeInBytes,
    firstRowId: file.firstRowId,
    recordCount: file.recordCount,
    fileSizeInBytes: file.fileSizeInBytes,
    columnSizes: encodeById(file.columnSizes, identity),
    valueCounts: encodeById(file.valueCounts, identity),
    nullValueCounts: encodeById(file.nullValueCounts, identity),
    nanValueCounts: encodeById(file.nanValueCounts, identity),
    lowerBounds: encodeById(file.lowerBounds, encodeBase64),
    upperBounds: encodeById(file.upperBounds, encodeBase64),
    splitOffsets: file.splitOffsets,
  };
}

export function decodeDataFile(o: JsonObject): DataFile {
  const file: DataFile = {
    content: o.oneOf('content', [0, 1, 2] as const),
    filePath: o.string('filePath'),
    fileFormat: o.oneOf('fileFormat', ['PARQUET', 'AVRO', 'ORC', 'PUFFIN'] as const),
    partition: o.list('partition', decodePartitionValue),
    specId: o.integer('specId'),
    recordCount: o.bigint('recordCount'),
    fileSizeInBytes: o.bigint('fileSizeInBytes'),
    columnSizes: decodeById(o, 'columnSizes', bigintAt),
    valueCounts: decodeById(o, 'valueCounts', bigintAt),
    nullValueCounts: decodeById(o, 'nullValueCounts', bigintAt),
    nanValueCounts: decodeById(o, 'nanValueCounts', bigintAt),
    lowerBounds: decodeById(o, 'lowerBounds', decodeBase64),
    upperBounds: decodeById(o, 'upperBounds', decodeBase64),
    splitOffsets: o.list('splitOffsets', bigintAt),
  };
  if (o.has('sortOrderId')) file.sortOrderId = o.integer('sortOrderId');
  if (o.has('equalityIds'))
    file.equalityIds = o.list('equalityIds', (v, where) => Number(bigintAt(v, where)));
  if (o.has('keyMetadata')) file.keyMetadata = o.bytes('keyMetadata');
  if (o.has('referencedDataFile')) file.referencedDataFile = o.string('referencedDataFile');
  if (o.has('contentOffset')) file.contentOffset = o.bigint('contentOffset');
  if (o.has('contentSizeInBytes')) file.contentSizeInBytes = o.bigint('contentSizeInBytes');
  if (o.has('firstRowId')) file.firstRowId = o.bigint('firstRowId');
  return file;
}

/** Text, booleans and null stand for themselves; a number is `{"n":..}`, a bigint `{"l":..}`, bytes `{"b":..}`: 5 and 5n differ. */
function encodePartitionValue(value: PartitionValue): unknown {
  if (typeof value === 'number')
    return {
      n:
        Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? '-0' : String(value),
    };
  if (typeof value === 'bigint') return { l: value };
  if (value instanceof Uint8Array) return { b: encodeBase64(value) };
  return value;
}

function decodePartitionValue(value: unknown, where: string): PartitionValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  const o = new JsonObject(value, where);
  const n = o.raw('n');
  if (n === 'NaN' || n === 'Infinity' || n === '-Infinity' || n === '-0') return Number(n);
  // A double above 2^53 that happens to be an integer comes out of the JSON reader as a bigint.
  if (typeof n === 'number' || typeof n === 'bigint') return Number(n);
  if (o.has('l')) return o.bigint('l');
  if (o.has('b')) return o.bytes('b');
  throw new Malformed(`${where}: no value of a partition`);
}

function encodeById<T>(map: Map<number, T>, encode: (value: T) => unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [id, value] of map) out[id] = encode(value);
  return out;
}

function decodeById<T>(
  o: JsonObject,
  name: string,
  read: (value: unknown, where: string) => T,
): Map<number, T> {
  const inner = o.raw(name);
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
    throw new Malformed(`${name}: expected values by field id`);
  const map = new Map<number, T>();
  for (const [key, value] of Object.entries(inner)) {
    if (!/^(?:0|[1-9]\d{0,9})$/.test(key)) throw new Malformed(`${name}: ${excerpt(key)} is no field id`);
    map.set(Number(key), read(value, `${name}[${key}]`));
  }
  return map;
}

function bigintAt(value: unknown, where: string): bigint {
  const v = asBigInt(value);
  if (v === undefined) throw new Malformed(`${where}: expected an integer, found ${excerpt(String(value))}`);
  return v;
}
