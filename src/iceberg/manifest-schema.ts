/** The Avro schemas of manifests and manifest lists that Sluice writes, v2 and v3 (Iceberg spec, "Manifests", "Manifest Lists", appendix A). */
import type { PrimitiveType } from '../core/schema.ts';
import { parseDecimal, parseFixed } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import type { AvroField, AvroSchema } from './avro-schema.ts';
import type { BoundPartitionField } from './partition.ts';

const required = (id: number, name: string, type: AvroSchema, doc?: string): AvroField => ({
  name,
  type,
  ...(doc === undefined ? {} : { doc }),
  'field-id': id,
});

const optional = (id: number, name: string, type: AvroSchema, doc?: string): AvroField => ({
  name,
  type: ['null', type],
  ...(doc === undefined ? {} : { doc }),
  default: null,
  'field-id': id,
});

/** map<int, V>: Avro's maps have string keys only, so it is an array of key-value records with the logical type `map`. */
const intMap = (keyId: number, valueId: number, value: AvroSchema): AvroSchema => ({
  type: 'array',
  items: {
    type: 'record',
    name: `k${keyId}_v${valueId}`,
    fields: [required(keyId, 'key', 'int'), required(valueId, 'value', value)],
  },
  logicalType: 'map',
});

const list = (elementId: number, items: AvroSchema): AvroSchema => ({
  type: 'array',
  items,
  'element-id': elementId,
});

const FIELD_SUMMARY: AvroSchema = {
  type: 'record',
  name: 'r508',
  fields: [
    required(509, 'contains_null', 'boolean', 'True if any file has a null partition value'),
    optional(518, 'contains_nan', 'boolean', 'True if any file has a nan partition value'),
    optional(510, 'lower_bound', 'bytes', 'Partition lower bound for all files'),
    optional(511, 'upper_bound', 'bytes', 'Partition upper bound for all files'),
  ],
};

/** The schema of a manifest list's records. The order of the fields is the order in which they are written. */
export function manifestListSchema(formatVersion: 2 | 3): AvroSchema {
  return {
    type: 'record',
    name: 'manifest_file',
    fields: [
      required(500, 'manifest_path', 'string', 'Location URI with FS scheme'),
      required(501, 'manifest_length', 'long', 'Total file size in bytes'),
      required(502, 'partition_spec_id', 'int', 'Spec ID used to write'),
      required(517, 'content', 'int', 'Contents of the manifest: 0=data, 1=deletes'),
      required(515, 'sequence_number', 'long', 'Sequence number when the manifest was added'),
      required(516, 'min_sequence_number', 'long', 'Lowest sequence number in the manifest'),
      required(503, 'added_snapshot_id', 'long', 'Snapshot ID that added the manifest'),
      required(504, 'added_files_count', 'int', 'Added entry count'),
      required(505, 'existing_files_count', 'int', 'Existing entry count'),
      required(506, 'deleted_files_count', 'int', 'Deleted entry count'),
      required(512, 'added_rows_count', 'long', 'Added rows count'),
      required(513, 'existing_rows_count', 'long', 'Existing rows count'),
      required(514, 'deleted_rows_count', 'long', 'Deleted rows count'),
      optional(507, 'partitions', list(508, FIELD_SUMMARY), 'Summary for each partition'),
      optional(519, 'key_metadata', 'bytes', 'Encryption key metadata blob'),
      ...(formatVersion === 3
        ? [optional(520, 'first_row_id', 'long', 'Starting row ID to assign to new rows in ADDED data files')]
        : []),
    ],
  };
}

/** The schema of a manifest's entries over a partition tuple. */
export function manifestEntrySchema(
  formatVersion: 2 | 3,
  partition: readonly BoundPartitionField[],
): AvroSchema {
  const dataFile: AvroSchema = {
    type: 'record',
    name: 'r2',
    fields: [
      required(134, 'content', 'int', 'Contents of the file: 0=data, 1=position deletes, 2=equality deletes'),
      required(100, 'file_path', 'string', 'Location URI with FS scheme'),
      required(101, 'file_format', 'string', 'File format name: avro, orc, parquet or puffin'),
      required(
        102,
        'partition',
        { type: 'record', name: 'r102', fields: partition.map(partitionAvroField) },
        'Partition data tuple, schema based on the partition spec',
      ),
      required(103, 'record_count', 'long', 'Number of records in the file'),
      required(104, 'file_size_in_bytes', 'long', 'Total file size in bytes'),
      optional(108, 'column_sizes', intMap(117, 118, 'long'), 'Map of column id to total size on disk'),
      optional(
        109,
        'value_counts',
        intMap(119, 120, 'long'),
        'Map of column id to total count, including null and NaN',
      ),
      optional(110, 'null_value_counts', intMap(121, 122, 'long'), 'Map of column id to null value count'),
      optional(
        137,
        'nan_value_counts',
        intMap(138, 139, 'long'),
        'Map of column id to number of NaN values in the column',
      ),
      optional(125, 'lower_bounds', intMap(126, 127, 'bytes'), 'Map of column id to lower bound'),
      optional(128, 'upper_bounds', intMap(129, 130, 'bytes'), 'Map of column id to upper bound'),
      optional(131, 'key_metadata', 'bytes', 'Encryption key metadata blob'),
      optional(132, 'split_offsets', list(133, 'long'), 'Splittable offsets'),
      optional(135, 'equality_ids', list(136, 'int'), 'Equality comparison field IDs'),
      optional(140, 'sort_order_id', 'int', 'Sort order ID'),
      ...(formatVersion === 3
        ? [optional(142, 'first_row_id', 'long', 'Starting row ID to assign to new rows')]
        : []),
      optional(
        143,
        'referenced_data_file',
        'string',
        'Fully qualified location of the data file that all deletes reference',
      ),
      ...(formatVersion === 3
        ? [
            optional(144, 'content_offset', 'long', 'The offset in the file where the content starts'),
            optional(
              145,
              'content_size_in_bytes',
              'long',
              'The length of referenced content stored in the file',
            ),
          ]
        : []),
    ],
  };
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      required(0, 'status', 'int'),
      optional(1, 'snapshot_id', 'long'),
      optional(3, 'sequence_number', 'long'),
      optional(4, 'file_sequence_number', 'long'),
      required(2, 'data_file', dataFile),
    ],
  };
}

function partitionAvroField({ field, resultType }: BoundPartitionField): AvroField {
  const name = avroName(field.name);
  return {
    ...optional(field.fieldId, name, avroType(resultType, field.fieldId)),
    ...(name === field.name ? {} : { 'iceberg-field-name': field.name }),
  };
}

/** A name that Avro allows, made as Java makes it: a leading digit gets `_`, any other character becomes `_x` and its code. */
export function avroName(name: string): string {
  let result = '';
  for (const [i, c] of [...name].entries()) {
    if (/[A-Za-z_]/.test(c) || (i > 0 && /[0-9]/.test(c))) result += c;
    else if (/[0-9]/.test(c)) result += `_${c}`;
    else result += `_x${c.codePointAt(0)!.toString(16).toUpperCase()}`;
  }
  return result === '' ? '_' : result;
}

/** The Avro type of a primitive (appendix A). `id` keeps the names of fixed types apart within one schema. */
function avroType(type: PrimitiveType, id: number): AvroSchema {
  switch (type) {
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'string':
      return type;
    case 'binary':
      return 'bytes';
    case 'date':
      return { type: 'int', logicalType: 'date' };
    case 'time':
      return { type: 'long', logicalType: 'time-micros' };
    case 'timestamp':
    case 'timestamptz':
      return { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': type === 'timestamptz' };
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return { type: 'long', logicalType: 'timestamp-nanos', 'adjust-to-utc': type === 'timestamptz_ns' };
    case 'uuid':
      return { type: 'fixed', size: 16, logicalType: 'uuid', name: `uuid_${id}` };
    default: {
      const decimal = parseDecimal(type);
      if (decimal !== undefined) {
        return {
          type: 'fixed',
          size: decimalFixedLength(decimal.precision),
          logicalType: 'decimal',
          ...decimal,
          name: `decimal_${id}`,
        };
      }
      const length = parseFixed(type);
      if (length !== undefined) return { type: 'fixed', size: length, name: `fixed_${id}` };
      throw new SluiceError('UNSUPPORTED', `a partition field of type ${type} cannot be written`);
    }
  }
}

/** The fewest bytes of two's complement that hold every decimal of the precision. */
export function decimalFixedLength(precision: number): number {
  const bits = (10n ** BigInt(precision) - 1n).toString(2).length + 1;
  return Math.ceil(bits / 8);
}
