import { describe, expect, it } from 'vitest';
import { activityText, count, counted, ProgressLine } from '../../../src/monitor/progress-line.ts';

const activity = (records: number, batchId = 1) => ({
  batchId,
  totalOffsets: 1000,
  records,
  bytes: records * 1024,
});

describe('ProgressLine', () => {
  it('is drawn over itself on a terminal, not too often and not too wide', () => {
    const written: string[] = [];
    let now = 0;
    const line = new ProgressLine({
      write: (t) => written.push(t),
      terminal: true,
      columns: () => 20,
      now: () => now,
    });
    for (let i = 0; i <= 10; i++) {
      now = i * 30;
      line.update(activity(i * 10));
    }
    expect(written).toHaveLength(3);
    expect(written[1]).toBe('\r\x1b[2Kbatch 1: 40 of 1,00');
    line.clear();
    line.clear();
    expect(written.slice(3)).toEqual(['\r\x1b[2K']);
    line.update(activity(200));
    expect(written).toHaveLength(5);
  });

  it('is whole on a terminal that does not know its width', () => {
    const written: string[] = [];
    const line = new ProgressLine({
      write: (t) => written.push(t),
      terminal: true,
      columns: () => 0,
      now: () => 0,
    });
    line.update(activity(500));
    expect(written).toEqual(['\r\x1b[2Kbatch 1: 500 of 1,000 (50%), 500 KB']);
  });

  it('is a plain line now and then elsewhere', () => {
    const written: string[] = [];
    let now = 0;
    const line = new ProgressLine({ write: (t) => written.push(t), terminal: false, now: () => now });
    for (let i = 0; i <= 250; i++) {
      now = i * 100;
      line.update(activity(i));
    }
    expect(written).toEqual([
      'batch 1: 100 of 1,000 (10%), 100 KB, 10/s, 1 min 30 s left\n',
      'batch 1: 200 of 1,000 (20%), 200 KB, 10/s, 1 min 20 s left\n',
    ]);
    line.clear();
    expect(written).toHaveLength(2);
  });
});

it('says nothing of a rate that is not known, and never more than the whole', () => {
  expect(activityText(activity(0), 0, 0)).toBe('batch 1: 0 of 1,000 (0%), 0 B');
  expect(activityText({ batchId: 2, totalOffsets: 10, records: 11, bytes: 5 }, 1000, 11)).toBe(
    'batch 2: 11 of 10 (100%), 5 B, 11/s, 0 ms left',
  );
  expect(activityText({ batchId: 2, totalOffsets: 0, records: 0, bytes: 0 }, 1000, 0)).toBe(
    'batch 2: 0 of 0, 0 B',
  );
});

it('counts in groups of three', () => {
  expect([0, 999, 1000, 1234567, 9007199254740993n].map(count)).toEqual([
    '0',
    '999',
    '1,000',
    '1,234,567',
    '9,007,199,254,740,993',
  ]);
});

it('counted knows one from many', () => {
  expect([counted(1, 'batch', 'batches'), counted(0n, 'topic'), counted(1200, 'record')]).toEqual([
    '1 batch',
    '0 topics',
    '1,200 records',
  ]);
});
