import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { civilFromDays, daysFromCivil } from '../../../src/core/iso-time.ts';
import { parseJson64, stringifyJson64 } from '../../../src/core/json64.ts';
import type { PrimitiveType } from '../../../src/core/schema.ts';
import {
  decimalFromBytes,
  decimalToBytes,
  decimalToFixed,
  singleValueFromBytes,
  singleValueFromJson,
  singleValueToBytes,
  singleValueToJson,
} from '../../../src/core/single-value.ts';
import { AvroReader } from '../../../src/iceberg/avro-reader.ts';
import { AvroWriter } from '../../../src/iceberg/avro-writer.ts';
import { newTableMetadata, type Snapshot } from '../../../src/iceberg/metadata.ts';
import { parseTableMetadata, serializeTableMetadata } from '../../../src/iceberg/metadata-json.ts';
import { murmur3, murmur3Long } from '../../../src/iceberg/murmur3.ts';
import { comparePartitionValues } from '../../../src/iceberg/partition-summary.ts';
import { bindTransform, parseTransform } from '../../../src/iceberg/transforms.ts';
import { applyUpdates } from '../../../src/iceberg/updates.ts';
import { ORDERS_SCHEMA, ordersRequest } from '../../support/iceberg-fixture.ts';
import { ALL_TYPES, arbitraryText, arbitraryValue } from '../../support/parquet-table.ts';

const LONG = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const ID = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
const typed = (types: readonly PrimitiveType[]) =>
  fc.constantFrom(...types).chain((type) => arbitraryValue(type).map((value) => ({ type, value })));

describe('single values', () => {
  it('come back from their bytes', () => {
    fc.assert(
      fc.property(typed(ALL_TYPES), ({ type, value }) => {
        const bytes = singleValueToBytes(type, value);
        const back = singleValueFromBytes(type, bytes);
        if (typeof value === 'string') expect(back).toBe(value.toWellFormed());
        else if (type === 'float') expect(back).toBe(Math.fround(value as number));
        else expect(back).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });

  it('come back from their JSON, over the text', () => {
    fc.assert(
      fc.property(typed(ALL_TYPES.filter((t) => t !== 'float' && t !== 'double')), ({ type, value }) => {
        const text = stringifyJson64(singleValueToJson(type, value));
        expect(singleValueFromJson(type, parseJson64(text))).toEqual(
          typeof value === 'string' ? value : value,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('decimals take the fewest bytes, and sign extension does not change them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }), (value) => {
        const bytes = decimalToBytes(value);
        expect(decimalFromBytes(bytes)).toBe(value);
        if (bytes.length > 1)
          expect(decimalFromBytes(bytes.subarray(1)) === value && (bytes[0] === 0 || bytes[0] === 255)).toBe(
            false,
          );
        expect(decimalFromBytes(decimalToFixed(value, 16))).toBe(value);
      }),
      { numRuns: 1000 },
    );
  });

  it('text that is no value is refused, never misread', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<PrimitiveType>(
          'date',
          'time',
          'timestamp',
          'timestamptz',
          'uuid',
          'binary',
          'decimal(9, 2)',
          'fixed[4]',
        ),
        fc.string({ unit: fc.constantFrom(...'0123456789-:T.+Zaf ') }),
        (type, text) => {
          let value: unknown;
          try {
            value = singleValueFromJson(type, text);
          } catch (e) {
            expect((e as { code: string }).code).toBe('METADATA_INVALID');
            return;
          }
          // What was taken is the same value in its own form.
          expect(singleValueFromJson(type, singleValueToJson(type, value as never))).toEqual(value);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('transforms against plain models', () => {
  const mod = (a: bigint, b: bigint): bigint => ((a % b) + b) % b;

  it('hour, day, month and year are those of the UTC clock', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }), (micros) => {
        // A Date floors nothing: the milliseconds are floored first.
        const ms = Number((micros - mod(micros, 1000n)) / 1000n);
        const date = new Date(ms);
        const of = (transform: string): unknown =>
          bindTransform(parseTransform(transform), 'timestamptz')(micros);
        expect(of('hour')).toBe(Math.floor(ms / 3_600_000));
        expect(of('day')).toBe(Math.floor(ms / 86_400_000));
        expect(of('month')).toBe((date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth());
        expect(of('year')).toBe(date.getUTCFullYear() - 1970);
      }),
      { numRuns: 3000 },
    );
  });

  it('days and dates of the calendar are one to one', () => {
    fc.assert(
      fc.property(fc.integer({ min: -3_000_000, max: 3_000_000 }), (days) => {
        const { year, month, day } = civilFromDays(days);
        expect(daysFromCivil(year, month, day)).toBe(days);
        const date = new Date(days * 86_400_000);
        expect([year, month, day]).toEqual([
          date.getUTCFullYear(),
          date.getUTCMonth() + 1,
          date.getUTCDate(),
        ]);
      }),
      { numRuns: 3000 },
    );
  });

  it('truncate of numbers is the multiple below', () => {
    fc.assert(
      fc.property(LONG, fc.integer({ min: 1, max: 1_000_000 }), (value, width) => {
        const result = bindTransform(parseTransform(`truncate[${width}]`), 'long')(value) as bigint;
        expect(result).toBe(BigInt.asIntN(64, value - mod(value, BigInt(width))));
        const int = Number(BigInt.asIntN(32, value));
        expect(bindTransform(parseTransform(`truncate[${width}]`), 'int')(int)).toBe(
          Number(BigInt.asIntN(32, BigInt(int) - mod(BigInt(int), BigInt(width)))),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('truncate of texts is the first code points', () => {
    fc.assert(
      fc.property(arbitraryText(), fc.integer({ min: 1, max: 20 }), (text, width) => {
        expect(bindTransform(parseTransform(`truncate[${width}]`), 'string')(text)).toBe(
          [...text].slice(0, width).join(''),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('buckets are in [0, n), the same for an int and its long', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        fc.integer({ min: 1, max: 10_000 }),
        (value, n) => {
          const bucket = bindTransform(parseTransform(`bucket[${n}]`), 'int')(value) as number;
          expect(bucket >= 0 && bucket < n).toBe(true);
          expect(bindTransform(parseTransform(`bucket[${n}]`), 'long')(BigInt(value))).toBe(bucket);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('the hash of a long is that of its bytes', () => {
    fc.assert(
      fc.property(LONG, (value) => {
        const bytes = Buffer.alloc(8);
        bytes.writeBigInt64LE(value);
        expect(murmur3Long(value)).toBe(murmur3(bytes));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('partition bounds', () => {
  it('the order of texts is the order of their UTF-8 bytes, which is that of their code points', () => {
    fc.assert(
      fc.property(arbitraryText(), arbitraryText(), (a, b) => {
        const points = (t: string): number[] => [...t.toWellFormed()].map((c) => c.codePointAt(0)!);
        const [x, y] = [points(a), points(b)];
        const i = x.findIndex((c, k) => c !== y[k]);
        const expected =
          i === -1 ? Math.sign(x.length - y.length) : i >= y.length ? 1 : Math.sign(x[i] - y[i]);
        expect(Math.sign(comparePartitionValues(a, b))).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("Avro's integers", () => {
  it('come back over the whole range', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            LONG,
            fc.constantFrom(
              -(2n ** 63n),
              2n ** 63n - 1n,
              0n,
              -1n,
              2n ** 30n,
              -(2n ** 30n) - 1n,
              2n ** 31n,
              2n ** 32n,
            ),
          ),
        ),
        (values) => {
          const writer = new AvroWriter();
          for (const value of values) writer.long(value);
          const reader = new AvroReader(writer.view());
          expect(values.map(() => reader.long())).toEqual(values);
          expect(reader.remaining).toBe(0);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('metadata', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 }).map((t) => t.toWellFormed());
  const extra = fc
    .dictionary(
      text.filter((k) => k !== '__proto__' && !/^[a-z-]+$/.test(k)),
      fc.oneof(text, LONG, fc.boolean(), fc.array(LONG)),
      { maxKeys: 3, noNullPrototype: true },
    )
    // As a file has them: small integers are numbers there.
    .map((fields) => parseJson64(stringifyJson64(fields)) as Record<string, unknown>);

  it('comes back from its text with every id exact and every unknown field', () => {
    fc.assert(
      fc.property(
        fc.array(ID, { minLength: 1, maxLength: 6 }),
        fc.dictionary(
          text.filter((k) => k !== '__proto__'),
          text,
          { noNullPrototype: true },
        ),
        extra,
        fc.constantFrom(2 as const, 3 as const),
        (ids, properties, unknown, formatVersion) => {
          const unique = [...new Set(ids)];
          let metadata = newTableMetadata({
            tableUuid: 'u',
            location: 'memory://t',
            schema: ORDERS_SCHEMA,
            partitionSpec: ordersRequest().partitionSpec,
            properties,
            formatVersion,
            nowMs: 1,
          });
          for (const [i, snapshotId] of unique.entries()) {
            const snapshot: Snapshot = {
              snapshotId,
              parentSnapshotId: i === 0 ? null : unique[i - 1],
              sequenceNumber: BigInt(i + 1),
              timestampMs: i,
              manifestList: 'memory://l',
              summary: { operation: 'append', ...properties },
              schemaId: 0,
              ...(formatVersion === 3 ? { firstRowId: BigInt(i), addedRows: 1n } : {}),
              ...(Object.keys(unknown).length === 0 ? {} : { extra: unknown }),
            };
            metadata = applyUpdates(
              metadata,
              [
                { action: 'add-snapshot', snapshot },
                { action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId } },
              ],
              i,
            );
          }
          metadata = { ...metadata, extra: unknown };
          const written = serializeTableMetadata(metadata);
          const back = parseTableMetadata(written, 'x');
          expect(back).toEqual(metadata);
          // Written again, from objects that came from a file: the same.
          expect(parseJson64(serializeTableMetadata(back))).toEqual(parseJson64(written));
        },
      ),
      { numRuns: 300 },
    );
  });
});
