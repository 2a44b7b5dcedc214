import { describe, expect, it } from 'vitest';
import { keyOf, Partitioner, type PartitionRun } from '../../../src/engine/local/partitioner.ts';
import { RowBlock } from '../../../src/engine/local/row-block.ts';
import { bronzeTarget, columnsOf, type TestRecord, topicTargets } from '../../support/blocks.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 29, 12);

function runsOf(
  records: TestRecord[],
  options: Parameters<typeof bronzeTarget>[0],
): { rows: number[]; partition: unknown[]; dt: string | null; hour: number | null }[] {
  const target = bronzeTarget(options);
  const block = new RowBlock();
  block.load(topicTargets(target), 2, columnsOf(records));
  const partitioner = new Partitioner(target);
  const runs = [];
  for (let row = 0; row < records.length; ) {
    const run = nextRun(partitioner, block, row, records.length);
    runs.push({ rows: [row, run.until], partition: run.partition, dt: run.dt, hour: run.hour });
    row = run.until;
  }
  return runs;
}

function nextRun(partitioner: Partitioner, block: RowBlock, from: number, until: number): PartitionRun {
  if (!partitioner.byRow) return partitioner.nextRun(block, from, until, NOW);
  const numbers = new Int32Array(until);
  partitioner.number(block, from, until, NOW, numbers);
  let next = from + 1;
  while (next < until && numbers[next] === numbers[from]) next++;
  return { ...partitioner.runOf(numbers[from]), until: next };
}

describe('Partitioner', () => {
  it('tells partitions apart that look alike: the two zeros, a number and its text, null', () => {
    const alike = [[0], [-0], ['0'], [0n], [null], ['null'], [Buffer.from('0')], [Number.NaN], ['NaN']];
    expect(new Set(alike.map(keyOf)).size).toBe(alike.length);
  });

  it('makes one run of an hour and a new one where the hour changes', () => {
    const base = Date.UTC(2026, 6, 14, 23);
    const runs = runsOf(
      [base, base + HOUR - 1, base + HOUR, base + HOUR + 5, base].map((ms, offset) => ({ offset, ms })),
      {},
    );
    expect(runs).toEqual([
      { rows: [0, 2], partition: ['2026-07-14', 23], dt: '2026-07-14', hour: 23 },
      { rows: [2, 4], partition: ['2026-07-15', 0], dt: '2026-07-15', hour: 0 },
      { rows: [4, 5], partition: ['2026-07-14', 23], dt: '2026-07-14', hour: 23 },
    ]);
  });

  it('puts a Korean day into one partition where Asia/Seoul is asked for', () => {
    const runs = runsOf(
      [
        { offset: 0, ms: Date.UTC(2026, 6, 13, 15) },
        { offset: 1, ms: Date.UTC(2026, 6, 14, 14, 59) },
      ],
      {
        timeZone: 'Asia/Seoul',
        partitionBy: ['dt'],
      },
    );
    expect(runs.map((r) => r.partition)).toEqual([['2026-07-14'], ['2026-07-14']]);
    expect(runs.map((r) => r.hour)).toEqual([0, 23]);
  });

  it('sends records without a timestamp to the null partition, and back again', () => {
    const runs = runsOf(
      [
        { offset: 0, ms: 0 },
        { offset: 1, ms: null },
        { offset: 2, ms: null },
        { offset: 3, ms: 0 },
      ],
      {},
    );
    expect(runs).toEqual([
      { rows: [0, 1], partition: ['1970-01-01', 0], dt: '1970-01-01', hour: 0 },
      { rows: [1, 3], partition: [null, null], dt: null, hour: null },
      { rows: [3, 4], partition: ['1970-01-01', 0], dt: '1970-01-01', hour: 0 },
    ]);
  });

  it('begins with records without a timestamp', () => {
    expect(
      runsOf(
        [
          { offset: 0, ms: null },
          { offset: 1, ms: null },
        ],
        {},
      ),
    ).toEqual([{ rows: [0, 2], partition: [null, null], dt: null, hour: null }]);
  });

  it('C19: floors hours and days before 1970', () => {
    const runs = runsOf(
      [
        { offset: 0, ms: -1 },
        { offset: 1, ms: -1000 },
        { offset: 2, ms: -86_400_000 },
        { offset: 3, ms: 0 },
      ],
      {
        partitionBy: ['hours(kafka_timestamp)', 'days(kafka_timestamp)'],
      },
    );
    expect(runs.map((r) => r.partition)).toEqual([
      [-1, -1],
      [-24, -1],
      [0, 0],
    ]);
  });

  it('splits by the UTC hour and by the local hour where a zone is off by half an hour', () => {
    const runs = runsOf(
      [
        { offset: 0, ms: 0 },
        { offset: 1, ms: HOUR / 2 },
        { offset: 2, ms: HOUR },
      ],
      {
        timeZone: 'Asia/Kolkata',
        partitionBy: ['hours(kafka_timestamp)', 'hour'],
      },
    );
    expect(runs.map((r) => r.partition)).toEqual([
      [0, 5],
      [0, 6],
      [1, 6],
    ]);
  });

  it('evaluates transforms of key and offset row by row', () => {
    const records = ['a', 'a', 'b', null].map((key, offset) => ({ offset: offset + 9, ms: 0, key }));
    const byKey = runsOf(records, { partitionBy: ['key'] });
    expect(byKey.map((r) => r.rows)).toEqual([
      [0, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(byKey[2].partition).toEqual([null]);
    expect(runsOf(records, { partitionBy: ['truncate(10, kafka_offset)'] }).map((r) => r.partition)).toEqual([
      [0n],
      [10n],
    ]);
  });

  it('makes one run of a block for an unpartitioned table but for dt and hour', () => {
    expect(
      runsOf(
        [
          { offset: 0, ms: 0 },
          { offset: 1, ms: 5 },
        ],
        { partitionBy: [] },
      ),
    ).toEqual([{ rows: [0, 2], partition: [], dt: '1970-01-01', hour: 0 }]);
  });

  it('hashes and cuts a text column as text, a binary one as bytes', () => {
    // Appendix B of the Iceberg spec: "iceberg" hashes to 1210000089; 1210000089 % 16 = 9.
    const records = [{ offset: 0, ms: 0, key: 'iceberg', value: 'a\u{1f600}bc' }];
    for (const keyType of ['string', 'binary'] as const) {
      expect(runsOf(records, { keyType, partitionBy: ['bucket(16, key)'] })[0].partition).toEqual([9]);
    }
    const text = { keyType: 'string', valueType: 'string' } as const;
    expect(
      runsOf(records, { ...text, partitionBy: ['key', 'truncate(2, value)', 'truncate(3, key)'] })[0]
        .partition,
    ).toEqual(['iceberg', 'a\u{1f600}', 'ice']);
    const bytes = { keyType: 'binary', valueType: 'binary' } as const;
    expect(runsOf(records, { ...bytes, partitionBy: ['key', 'truncate(2, value)'] })[0].partition).toEqual([
      new TextEncoder().encode('iceberg'),
      Uint8Array.of(0x61, 0xf0),
    ]);
  });

  it('keeps partition values that are bytes when the block is filled again', () => {
    const target = bronzeTarget({ partitionBy: ['key'] });
    const columns = columnsOf([{ offset: 0, ms: 0, key: 'first' }]);
    const block = new RowBlock();
    block.load(topicTargets(target), 0, columns);
    const { partition } = nextRun(new Partitioner(target), block, 0, 1);
    columns.keys.data.fill(0);
    expect(partition).toEqual([new TextEncoder().encode('first')]);
  });
});
