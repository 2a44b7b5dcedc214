import fc from 'fast-check';
import type { DataFile, PartitionValue } from '../../src/core/data-file.ts';

/** Any 64-bit integer. */
export const long = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const byId = <T>(value: fc.Arbitrary<T>) =>
  fc
    .uniqueArray(fc.tuple(fc.nat(2 ** 31 - 1), value), { maxLength: 5, selector: (e) => e[0] })
    .map((e) => new Map(e));
const bytes = fc.uint8Array({ maxLength: 20 });
const partitionValue: fc.Arbitrary<PartitionValue> = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    Number.NaN,
    -0,
    0,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    2 ** 60,
    -(2 ** 63),
    1e300,
    5e-324,
    5,
    5n,
  ),
  fc.double(),
  fc.integer(),
  long,
  fc.string({ unit: 'binary' }),
  bytes,
);
/** Any data file that a manifest could name, and many that none would. */
export const dataFile: fc.Arbitrary<DataFile> = fc.record(
  {
    content: fc.constantFrom(0 as const, 1 as const, 2 as const),
    filePath: fc.string({ unit: 'binary' }),
    fileFormat: fc.constantFrom('PARQUET' as const, 'AVRO' as const, 'ORC' as const, 'PUFFIN' as const),
    partition: fc.array(partitionValue, { maxLength: 4 }),
    specId: fc.nat(),
    sortOrderId: fc.nat(),
    equalityIds: fc.array(fc.nat(), { maxLength: 3 }),
    keyMetadata: bytes,
    referencedDataFile: fc.string(),
    contentOffset: long,
    contentSizeInBytes: long,
    firstRowId: long,
    recordCount: long,
    fileSizeInBytes: long,
    columnSizes: byId(long),
    valueCounts: byId(long),
    nullValueCounts: byId(long),
    nanValueCounts: byId(long),
    lowerBounds: byId(bytes),
    upperBounds: byId(bytes),
    splitOffsets: fc.array(long, { maxLength: 3 }),
  },
  {
    requiredKeys: [
      'content',
      'filePath',
      'fileFormat',
      'partition',
      'specId',
      'recordCount',
      'fileSizeInBytes',
      'columnSizes',
      'valueCounts',
      'nullValueCounts',
      'nanValueCounts',
      'lowerBounds',
      'upperBounds',
      'splitOffsets',
    ],
  },
) as fc.Arbitrary<DataFile>;
