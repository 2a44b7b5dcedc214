import { describe, expect, it } from 'vitest';
import { recordJson, recordText, reportsText, summariesText } from '../../../src/cli/quarantine-text.ts';
import type { RequeueReport } from '../../../src/engine/requeue/requeue-report.ts';
import type { ShownRecord } from '../../../src/engine/requeue/shown-record.ts';

const record = (more: Partial<ShownRecord> = {}): ShownRecord => ({
  quarantine: 'b.t__quarantine',
  topic: 't',
  partition: 0,
  offset: 9_007_199_254_740_993n,
  timestampMicros: 1_784_019_600_000_000n,
  key: null,
  value: Buffer.from('{"a":1}\nsecond line'),
  headers: null,
  reason: 'INVALID_JSON',
  field: 'value',
  message: 'it ends early',
  schemaId: null,
  pipeline: 'p',
  batchId: 3n,
  quarantinedAtMicros: null,
  requeued: false,
  whole: true,
  ...more,
});

const report = (more: Partial<RequeueReport> = {}): RequeueReport => ({
  quarantine: 'b.t__quarantine',
  executed: false,
  records: 3,
  rows: { 'b.t': 1 },
  already: 1,
  busy: 0,
  unplaced: 0,
  staying: [
    { was: 'INVALID_JSON', reason: 'INVALID_JSON', field: 'value', count: 1, example: 't/0/5', message: 'm' },
  ],
  requeues: [],
  finished: [],
  ...more,
});

describe('a quarantined record', () => {
  it('is text where its bytes are text', () => {
    const text = recordText(record(), true);
    expect(text).toContain('t/0/9007199254740993\n');
    expect(text).toContain('reason     INVALID_JSON in value');
    expect(text).toContain('  key: null\n  value, 19 bytes of text:\n    {"a":1}\n    second line\n');
    expect(recordText(record({ value: new Uint8Array(0) }), true)).toContain('value: empty');
  });

  it('is a dump where they are not, whatever they are', () => {
    const text = recordText(record({ value: Uint8Array.of(0x41, 0xff, 0x0a, 0x7e) }), true);
    expect(text).toContain('  value, 4 bytes:\n    00000000  41 ff 0a 7e');
    expect(text).toContain('|A..~|');
    expect(recordText(record({ value: new Uint8Array(5000) }), true)).toContain(
      '... 904 more bytes; --raw writes all',
    );
  });

  it('does not move the cursor of a terminal', () => {
    const evil = '\u001b[2J\u0007\u202e';
    const text = recordText(
      record({
        value: Buffer.from(evil),
        field: evil,
        message: evil,
        pipeline: evil,
        headers: [{ key: evil, value: null }],
      }),
      true,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(text).toContain('\\u001b[2J');
  });

  it('says that the rest of a value was not kept', () => {
    expect(recordText(record({ whole: false }), true)).toContain(
      'value (the beginning; the rest was not kept)',
    );
  });

  it('is JSON with exact numbers and base64', () => {
    const json = recordJson(record({ key: Uint8Array.of(255) }));
    expect(json).toContain('"offset":9007199254740993');
    expect(JSON.parse(json)).toMatchObject({
      key: '/w==',
      timestamp: '2026-07-14T09:00:00.000000Z',
      quarantinedAt: null,
      headers: null,
    });
  });
});

describe('what a requeue comes to', () => {
  it('is what would be done, and how to do it', () => {
    const text = reportsText([report()], false);
    expect(text).toContain(
      'b.t__quarantine: 3 records\n  1 would become rows of b.t\n  1 had gone back before\n',
    );
    expect(text).toContain('  1 stay in the quarantine\n');
    expect(text).toMatch(/INVALID_JSON +INVALID_JSON +value +1 +t\/0\/5 +m/);
    expect(text).toContain('nothing was written; --execute does it');
    expect(reportsText([report({ rows: {} })], false)).not.toContain('--execute');
  });

  it('is what was done', () => {
    const requeues = [{ requeueId: 'r', table: 'b.t', snapshotId: 7n, rows: 1 }];
    const finished = [{ requeueId: 'q', table: 'b.t', rows: 2 }];
    const text = reportsText([report({ executed: true, requeues, finished, busy: 4, unplaced: 5 })], true);
    expect(text).toContain('1 went back into b.t\n    requeue r: 1 row, snapshot 7\n');
    expect(text).toContain('requeue q, which was cut off, is finished: 2 rows in b.t');
    expect(text).toContain('4 belong to requeues that are not finished');
    expect(text).toContain('5 rows say no topic, partition and offset');
  });

  it('says so where there is nothing', () => {
    expect(reportsText([], true)).toBe('no quarantine of this pipeline holds a record\n');
    expect(summariesText([], 5)).toBe('no quarantine of this pipeline holds a record\n');
  });
});
