/**
 * The record-set decoder against a naive model: random logs of every magic and codec, with holes, transactions and control
 * records, served by a simulated broker in random pieces, and read over random ranges under both isolation levels.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../src/errors.ts';
import type { AbortedTransaction } from '../../src/kafka/aborted-transactions.ts';
import { openCursor, RecordSetDecoder, type RowReceiver } from '../../src/kafka/record-set-decoder.ts';
import { DECODER_OPTIONS, type DecodedRow, faultsOf, hexOf, rowsOf } from '../support/decoded-rows.ts';
import {
  encodeControlBatch,
  encodeHeaders,
  encodeMessageSet,
  encodeRecordBatch,
  fixCrc,
  type TestCodec,
  type TestRecord,
} from '../support/record-batch-encoder.ts';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);
const CODECS: TestCodec[] = ['none', 'gzip', 'snappy', 'snappy-xerial', 'lz4', 'zstd', 'zstd-frames'];
const LEGACY_CODECS: TestCodec[] = ['none', 'gzip', 'snappy', 'snappy-xerial', 'lz4'];

/** What every offset of the model's log is; offsets that are missing are holes. */
type ModelEntry =
  | { kind: 'row'; row: DecodedRow }
  | { kind: 'control' }
  | { kind: 'transactional'; row: DecodedRow; transaction: number };

interface ModelBatch {
  bytes: Buffer;
  lastOffset: bigint;
}

interface Transaction extends AbortedTransaction {
  aborted: boolean;
  markerOffset: bigint;
}

interface Log {
  base: bigint;
  end: bigint;
  batches: ModelBatch[];
  entries: Map<bigint, ModelEntry>;
  transactions: Transaction[];
}

const bytes = fc.oneof(
  { weight: 4, arbitrary: fc.uint8Array({ maxLength: 24 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 40 }).map((s) => new Uint8Array(Buffer.from(s))) },
  { weight: 2, arbitrary: fc.integer({ min: 90, max: 300 }).map((n) => new Uint8Array(n).fill(n & 0xff)) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1000, max: 20_000 }).map((n) => new Uint8Array(n).fill(n & 0x7f)),
  },
);
const nullableBytes = fc.option(bytes, { freq: 5, nil: null });
const timestamp = fc.oneof(
  { weight: 5, arbitrary: fc.bigInt({ min: 1_784_000_000_000n, max: 1_784_000_100_000n }) },
  { weight: 1, arbitrary: fc.constantFrom(-1n, 0n, MAX, MIN, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n + 1n) },
  { weight: 1, arbitrary: fc.bigInt({ min: MIN, max: MAX }) },
);
const headers = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.array(fc.record({ key: fc.string({ maxLength: 8 }), value: nullableBytes }), {
      maxLength: 3,
    }),
  },
);
const record = fc.record({
  skip: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(9)),
  timestamp,
  key: nullableBytes,
  value: nullableBytes,
  headers,
});
type RandomRecord = typeof record extends fc.Arbitrary<infer T> ? T : never;
const recordList = fc.array(record, { maxLength: 6 });
const gap = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(20) });

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      records: recordList,
      codec: fc.constantFrom(...CODECS),
      /** Which producer's transaction it belongs to; 0 none. */
      producer: fc.nat(3),
      tail: gap,
      before: gap,
      logAppendTime: fc.boolean(),
      maxTimestamp: timestamp,
      baseTimestamp: fc.option(timestamp),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      producer: fc.integer({ min: 1, max: 3 }),
      abort: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('legacy' as const),
      magic: fc.constantFrom(0 as const, 1 as const),
      records: fc.array(record, { minLength: 1, maxLength: 5 }),
      codec: fc.constantFrom(...LEGACY_CODECS),
      logAppendTime: fc.boolean(),
      wrapperTimestamp: timestamp,
      firstInnerOffset: fc.nat(5),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const baseOffset = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt({ min: 0n, max: 1000n }) },
  fc.constantFrom(2n ** 31n - 7n, 2n ** 32n - 7n, 2n ** 53n - 7n, 2n ** 62n, MAX - 1500n),
);

/** Builds the log that the steps describe; transactions still open at the end are committed. */
function buildLog(base: bigint, steps: readonly Step[]): Log {
  const log: Log = { base, end: base, batches: [], entries: new Map(), transactions: [] };
  const open = new Map<number, Transaction>();
  const add = (bytes: Buffer, next: bigint) => {
    log.batches.push({ bytes, lastOffset: next - 1n });
    log.end = next;
  };
  const endTransaction = (producer: number, abort: boolean) => {
    const transaction = open.get(producer);
    if (transaction === undefined) return;
    transaction.aborted = abort;
    transaction.markerOffset = log.end;
    open.delete(producer);
    log.entries.set(log.end, { kind: 'control' });
    add(encodeControlBatch(abort ? 'abort' : 'commit', log.end, BigInt(producer)), log.end + 1n);
  };
  for (const s of steps) {
    if (s.kind === 'end') endTransaction(s.producer, s.abort);
    else if (s.kind === 'legacy') addLegacy(log, s, add);
    else {
      const first = log.end + BigInt(s.before);
      const placed = place(s.records, first);
      const last = (placed.at(-1)?.offset ?? first) + BigInt(s.tail);
      const producer = s.producer;
      if (producer > 0 && !open.has(producer)) {
        const transaction = {
          producerId: BigInt(producer),
          firstOffset: first,
          aborted: false,
          markerOffset: -1n,
        };
        open.set(producer, transaction);
        log.transactions.push(transaction);
      }
      const maxTimestamp = s.maxTimestamp;
      for (const r of placed) {
        const row = rowOf(r, s.logAppendTime ? maxTimestamp : r.timestamp!, s.logAppendTime ? 1 : 0, true);
        const transaction = log.transactions.indexOf(open.get(producer)!);
        log.entries.set(
          r.offset,
          producer > 0 ? { kind: 'transactional', row, transaction } : { kind: 'row', row },
        );
      }
      const batch = encodeRecordBatch(placed, {
        codec: s.codec,
        baseOffset: first,
        lastOffset: last,
        baseTimestamp: s.baseTimestamp ?? placed[0]?.timestamp ?? -1n,
        maxTimestamp,
        logAppendTime: s.logAppendTime,
        transactional: producer > 0,
        producerId: producer > 0 ? BigInt(producer) : -1n,
      });
      add(batch, last + 1n);
    }
  }
  for (const producer of [...open.keys()]) endTransaction(producer, false);
  return log;
}

function addLegacy(log: Log, s: Step & { kind: 'legacy' }, add: (bytes: Buffer, next: bigint) => void): void {
  const placed = place(s.records, log.end).map((r) => ({ ...r, headers: [] }));
  const wrapped = s.codec !== 'none';
  const appended = s.magic === 1 && s.logAppendTime;
  for (const r of placed) {
    const time = s.magic === 0 ? -1n : appended && wrapped ? s.wrapperTimestamp : r.timestamp!;
    log.entries.set(r.offset, { kind: 'row', row: rowOf(r, time, appended ? 1 : 0, false) });
  }
  const options = {
    codec: s.codec,
    logAppendTime: s.logAppendTime,
    wrapperTimestamp: s.wrapperTimestamp,
    // The relative offsets begin at 0, or later where compaction took the first; never beyond the absolute ones.
    firstInnerOffset: BigInt(s.firstInnerOffset) < log.end ? BigInt(s.firstInnerOffset) : log.end,
  };
  if (wrapped) add(encodeMessageSet(s.magic, placed, options), placed.at(-1)!.offset + 1n);
  else for (const r of placed) add(encodeMessageSet(s.magic, [r], options), r.offset + 1n);
}

function place(records: readonly RandomRecord[], first: bigint): TestRecord[] {
  let next = first;
  return records.map(({ skip, ...r }) => {
    const offset = next + BigInt(skip);
    next = offset + 1n;
    return { ...r, headers: [...r.headers], offset };
  });
}

function rowOf(r: TestRecord, time: bigint, timestampType: number, withHeaders: boolean): DecodedRow {
  const some = withHeaders && r.headers !== undefined && r.headers.length > 0;
  return {
    offset: r.offset,
    timestamp: time === -1n ? null : time,
    timestampType,
    key: hexOf(r.key as Uint8Array | null),
    value: hexOf(r.value as Uint8Array | null),
    headers: some ? hexOf(encodeHeaders(r.headers!)) : null,
  };
}

/** What reading [from, until) must give. */
function expected(log: Log, from: bigint, until: bigint, readCommitted: boolean) {
  const rows: DecodedRow[] = [];
  const counts = { rows: 0, control: 0, aborted: 0, holes: 0 };
  const gaps: { from: bigint; until: bigint }[] = [];
  for (let offset = from; offset < until; offset++) {
    const entry = log.entries.get(offset);
    const dropped =
      entry?.kind === 'transactional' && readCommitted && log.transactions[entry.transaction].aborted;
    if (entry !== undefined && entry.kind !== 'control' && !dropped) {
      rows.push(entry.row);
      counts.rows++;
      continue;
    }
    counts[entry === undefined ? 'holes' : entry.kind === 'control' ? 'control' : 'aborted']++;
    if (gaps.at(-1)?.until === offset) gaps.at(-1)!.until++;
    else gaps.push({ from: offset, until: offset + 1n });
  }
  return { rows, counts, gaps };
}

/** A broker's answer to a fetch at `position`: batches from the one that holds it, cut at `maxBytes`, and its aborted transactions. */
function serve(
  log: Log,
  position: bigint,
  maxBytes: number,
  wholeFirst: boolean,
): { set: Buffer; aborted: AbortedTransaction[] } {
  const first = log.batches.findIndex((b) => b.lastOffset >= position);
  const rest = log.batches.slice(first);
  const all = Buffer.concat(rest.map((b) => b.bytes));
  const set = all.subarray(0, wholeFirst ? Math.max(maxBytes, rest[0].bytes.length) : maxBytes);
  let size = 0;
  let upper = position;
  for (const b of rest) {
    if (size >= set.length) break;
    size += b.bytes.length;
    upper = b.lastOffset + 1n;
  }
  const aborted = log.transactions.filter(
    (t) => t.aborted && t.markerOffset >= position && t.firstOffset < upper,
  );
  return { set, aborted: aborted.reverse() };
}

const run = { numRuns: 400 };

describe('record batches', () => {
  it('decodes to what the model says, over any range, fetched in any pieces', () => {
    fc.assert(
      fc.property(
        fc.record({
          base: baseOffset,
          steps: fc.array(step, { minLength: 1, maxLength: 14 }),
          from: fc.nat(1000),
          until: fc.nat(1000),
          readCommitted: fc.boolean(),
          fetchSizes: fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 5 }),
          wholeFirst: fc.boolean(),
          emitBytes: fc.constantFrom(1, 500, 1_000_000),
          pauses: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
          checkUtf8: fc.boolean(),
        }),
        (input) => {
          const log = buildLog(input.base, input.steps);
          const length = Number(log.end - log.base);
          if (length === 0) return;
          const a = log.base + BigInt(Math.floor((input.from * length) / 1000));
          const b = log.base + BigInt(Math.ceil((input.until * length) / 1000));
          const [from, until] = a < b ? [a, b] : [b, a];
          const { readCommitted, emitBytes } = input;
          const decoder = new RecordSetDecoder({
            ...DECODER_OPTIONS,
            readCommitted,
            emitBytes,
            checkUtf8Values: input.checkUtf8,
            checkUtf8Keys: input.checkUtf8,
          });
          const cursor = openCursor({ topic: 't', partition: 0, from, until });
          const rows: DecodedRow[] = [];
          let fetches = 0;
          let more = 0;
          while (cursor.position < until) {
            const limit = Math.max(more, input.fetchSizes[fetches++ % input.fetchSizes.length]);
            const { set, aborted } = serve(log, cursor.position, limit, input.wholeFirst);
            let emits = 0;
            const onRows: RowReceiver = (_c, columns) => {
              expect(faultsOf(columns)).toEqual([]);
              expect(columns.invalidUtf8Values).toEqual(input.checkUtf8 ? invalidRows(columns.values) : []);
              expect(columns.invalidUtf8Keys).toEqual(input.checkUtf8 ? invalidRows(columns.keys) : []);
              rows.push(...rowsOf(columns));
              return input.pauses[emits++ % input.pauses.length];
            };
            const before = cursor.position;
            const first = decoder.decode(set, 0, set.length, cursor, aborted, onRows);
            let { pausedAt } = first;
            while (pausedAt !== undefined)
              pausedAt = decoder.resume(set, pausedAt, set.length, cursor, onRows).pausedAt;
            const progressed = cursor.position > before;
            const { firstBatchBytesNeeded } = first;
            expect(cursor.position - from).toBe(
              BigInt(cursor.rows + cursor.control + cursor.aborted + cursor.holes),
            );
            expect(cursor.position <= until).toBe(true);
            expect(progressed || (firstBatchBytesNeeded ?? 0) > limit).toBe(true);
            more = firstBatchBytesNeeded ?? 0;
          }
          const model = expected(log, from, until, readCommitted);
          expect(rows).toEqual(model.rows);
          expect({
            rows: cursor.rows,
            control: cursor.control,
            aborted: cursor.aborted,
            holes: cursor.holes,
          }).toEqual(model.counts);
          expect(cursor.gaps).toEqual(model.gaps);
          expect(cursor.position).toBe(until);
        },
      ),
      run,
    );
  });

  it('finds every change of bytes that the CRC covers, and delivers the batches before', () => {
    fc.assert(
      fc.property(
        fc.array(recordList, { minLength: 2, maxLength: 4 }),
        fc.constantFrom(...CODECS),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (lists, codec, place_, change) => {
          const log = buildLog(
            0n,
            lists.map((records) => plain(records, codec)),
          );
          const target = log.batches.length - 1;
          const damaged = Buffer.from(log.batches[target].bytes);
          const covered = 17 + (place_ % (damaged.length - 17));
          damaged[covered] ^= change;
          const set = Buffer.concat([...log.batches.slice(0, target).map((b) => b.bytes), damaged]);
          const { rows, error, position } = decodeQuietly(set, log.end);
          expect(error).toMatchObject({ code: 'COULD_NOT_READ' });
          const before = log.batches[target - 1].lastOffset + 1n;
          expect(position).toBe(before);
          expect(rows).toEqual(expected(log, 0n, before, true).rows);
        },
      ),
      run,
    );
  });

  it('gives rows or one clear error for hostile bytes with a right CRC', () => {
    fc.assert(
      fc.property(
        recordList,
        fc.constantFrom(...CODECS),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.option(fc.nat(), { freq: 3 }),
        fc.boolean(),
        (records, codec, changes, cut, inside) => {
          const mangle = (target: Buffer, from: number): Buffer => {
            const length =
              cut === null || target.length === from ? target.length : from + (cut % (target.length - from));
            const changed = Buffer.from(target.subarray(0, length));
            for (const [at, byte] of changes)
              if (length > from) changed[from + (at % (length - from))] = byte;
            return changed;
          };
          // Either the records are changed before they are compressed, or the batch behind its magic byte.
          const placed = place(records, 0n);
          let set: Buffer;
          if (inside) set = encodeRecordBatch(placed, { codec, mangle: (b) => mangle(Buffer.from(b), 0) });
          else {
            set = mangle(encodeRecordBatch(placed, { codec }), 21);
            if (set.length < 61) return;
            set.writeInt32BE(set.length - 12, 8);
            fixCrc(set);
          }
          const { error, rows, position, faults } = decodeQuietly(set, 1000n);
          expect(faults).toEqual([]);
          if (error !== undefined) {
            expect(error).toBeInstanceOf(SluiceError);
            expect(['COULD_NOT_READ', 'UNSUPPORTED_CODEC', 'MEMORY_LIMIT']).toContain(
              (error as SluiceError).code,
            );
            expect(rows).toEqual([]);
            expect(position).toBe(0n);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('gives rows or one clear error for any bytes at all', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.option(fc.nat(2)),
        fc.boolean(),
        (noise, magic, whole) => {
          const set = Buffer.from(noise);
          if (magic !== null && set.length > 16) set[16] = magic;
          if (whole && set.length >= 12) set.writeInt32BE(set.length - 12, 8);
          const { error, faults } = decodeQuietly(set, MAX);
          expect(faults).toEqual([]);
          if (error !== undefined) expect(error).toMatchObject({ code: 'COULD_NOT_READ' });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('finds flipped bits and cuts in messages of magic 0 and 1', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0 as const, 1 as const),
        fc.array(record, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...LEGACY_CODECS),
        fc.nat(),
        fc.nat(7),
        (magic, records, codec, at, bit) => {
          const set = encodeMessageSet(magic, place(records, 5n), { codec });
          const clean = decodeQuietly(set, 1000n);
          expect(clean.error).toBeUndefined();
          const flipped = Buffer.from(set);
          const place_ = at % flipped.length;
          flipped[place_] ^= 1 << bit;
          const { error, rows, faults } = decodeQuietly(flipped, 1000n);
          expect(faults).toEqual([]);
          if (error !== undefined) expect((error as SluiceError).code).toBe('COULD_NOT_READ');
          // Whatever happens, a row that comes out has the value that went in, unless its offset was hit, which no CRC covers.
          const known = new Set(clean.rows.map((r) => r.value));
          expect(rows.every((r) => known.has(r.value))).toBe(true);
        },
      ),
      run,
    );
  });
});

function plain(records: typeof recordList extends fc.Arbitrary<infer T> ? T : never, codec: TestCodec): Step {
  return {
    kind: 'batch',
    records,
    codec,
    producer: 0,
    tail: 0,
    before: 0,
    logAppendTime: false,
    maxTimestamp: 0n,
    baseTimestamp: null,
  };
}

function decodeQuietly(set: Buffer, until: bigint) {
  const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until });
  const rows: DecodedRow[] = [];
  const faults: string[] = [];
  let error: unknown;
  try {
    new RecordSetDecoder({ ...DECODER_OPTIONS, maxBatchBytes: 1_000_000 }).decode(
      set,
      0,
      set.length,
      cursor,
      [],
      (_c, columns) => {
        faults.push(...faultsOf(columns));
        rows.push(...rowsOf(columns));
      },
    );
  } catch (e) {
    error = e;
  }
  const counted = BigInt(cursor.rows + cursor.control + cursor.aborted + cursor.holes);
  if (cursor.position < 2n ** 50n && cursor.position !== counted)
    faults.push(`position ${cursor.position}, counted ${counted}`);
  return { rows, faults, error, position: cursor.position };
}

function invalidRows(column: { length: number; get(row: number): Uint8Array | null }): number[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const rows: number[] = [];
  for (let i = 0; i < column.length; i++) {
    const value = column.get(i);
    if (value === null) continue;
    try {
      decoder.decode(value);
    } catch {
      rows.push(i);
    }
  }
  return rows;
}
