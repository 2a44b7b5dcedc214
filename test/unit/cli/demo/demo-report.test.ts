import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { demoReport, removeReport, reportPath, writeReport } from '../../../../src/cli/demo/demo-report.ts';

const RUN = { records: 200_000, seconds: 1.25, batches: 2 };
const TABLES = [
  { name: 'bronze.a', rows: 300_000n, dataFiles: 8, partitions: 3, snapshotId: 9_007_199_254_740_993n },
  { name: 'bronze.b', rows: 0n, dataFiles: 0, partitions: 0, snapshotId: null },
];
const GOOD = { ok: true, lost: 0n, duplicated: 0n };

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-report-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'demo');
}

describe('the report of the demo', () => {
  it('is plain JSON numbers, the snapshot id with all its digits', async () => {
    const directory = scratch();
    await writeReport(directory, demoReport(RUN, TABLES, [GOOD, GOOD]));
    const text = readFileSync(reportPath(directory), 'utf8');
    expect(text.replace(/\s/g, '')).toBe(
      '{"records":200000,"seconds":1.25,"recordsPerSecond":160000,"batches":2,' +
        '"tables":[{"name":"bronze.a","rows":300000,"dataFiles":8,"snapshotId":9007199254740993},' +
        '{"name":"bronze.b","rows":0,"dataFiles":0,"snapshotId":null}],' +
        '"verify":{"ok":true,"lost":0,"duplicated":0}}',
    );
    expect(readdirSync(directory)).toEqual(['report.json']);
  });

  it('adds up what is lost and doubled, and is ok only where every table is', () => {
    const bad = { ok: false, lost: 3n, duplicated: 1n };
    expect(demoReport(RUN, TABLES, [GOOD, bad, bad]).verify).toEqual({ ok: false, lost: 6n, duplicated: 2n });
    expect(demoReport(RUN, TABLES, [{ ...GOOD, ok: false }]).verify.ok).toBe(false);
    expect(demoReport(RUN, [], []).verify.ok).toBe(false);
  });

  it('takes no time for infinite speed', () => {
    expect(demoReport({ ...RUN, seconds: 0 }, TABLES, [GOOD]).recordsPerSecond).toBe(0);
  });

  it('is written over the one before, and taken away before a run', async () => {
    const directory = scratch();
    await removeReport(directory);
    await writeReport(directory, demoReport(RUN, TABLES, [GOOD]));
    await writeReport(directory, demoReport({ ...RUN, records: 7 }, TABLES, [GOOD]));
    expect(JSON.parse(readFileSync(reportPath(directory), 'utf8')).records).toBe(7);
    await removeReport(directory);
    expect(existsSync(reportPath(directory))).toBe(false);
  });
});
