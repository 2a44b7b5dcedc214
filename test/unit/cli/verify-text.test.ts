import { describe, expect, it } from 'vitest';
import { refuseDifferences, verifyJson, verifyText, verifyTexts } from '../../../src/cli/verify-text.ts';
import { SluiceError } from '../../../src/errors.ts';
import type { PartitionProof, VerifyReport } from '../../../src/proof/verify-table.ts';

const proof = (more: Partial<PartitionProof> = {}): PartitionProof => ({
  topic: 't',
  partition: 0,
  ranges: [{ from: 0n, until: 600n }],
  rows: 200,
  quarantined: 0,
  requeued: 0,
  dropped: 0,
  control: 0,
  aborted: 0,
  holes: 0,
  acceptedLoss: 400n,
  lost: 0n,
  duplicated: 0n,
  unexpected: 0n,
  misplaced: 0n,
  missing: [],
  doubled: [],
  unknown: [],
  unlisted: 0,
  candidates: [],
  ...more,
});

const report = (p: PartitionProof, more: Partial<VerifyReport> = {}): VerifyReport => ({
  table: 'b.t',
  quarantineTable: 'b.t__quarantine',
  snapshotId: 1n,
  ok: p.lost + p.duplicated + p.unexpected + p.misplaced === 0n,
  lost: p.lost,
  duplicated: p.duplicated,
  unexpected: p.unexpected,
  misplaced: p.misplaced,
  acceptedLoss: p.acceptedLoss,
  rows: p.rows,
  quarantined: p.quarantined,
  requeued: p.requeued,
  unfinishedRequeues: [],
  otherRows: 0,
  partitions: [p],
  ...more,
});

describe('verifyText', () => {
  it('tells of a loss that was accepted, in the summary and per partition', () => {
    const [summary, header, row] = verifyText(report(proof())).split('\n');
    expect(summary).toBe(
      'b.t: ok: 200 rows, 0 quarantined, 0 lost, 0 doubled, 0 unknown, 400 accepted as lost',
    );
    expect(header).toMatch(/gaps +accepted loss$/);
    expect(row).toMatch(/\[0, 600\) +200 +0 +0 +0 +400$/);
  });

  it('says where gaps are known by number and checksum only', () => {
    expect(verifyText(report(proof({ unlisted: 1234 })))).toContain(
      't-0: 1,234 offsets without a row are compared by number and checksum only: too many to list',
    );
  });

  it('names the places of every difference', () => {
    const text = verifyText(
      report(
        proof({
          lost: 3n,
          duplicated: 1n,
          unexpected: 2n,
          missing: [{ from: 5n, until: 7n }],
          doubled: [{ from: 9n, until: 10n }],
          unknown: [{ from: 700n, until: 702n }],
          unlisted: 4,
          candidates: [{ from: 20n, until: 25n }],
        }),
        { otherRows: 12 },
      ),
    );
    expect(text).toMatch(/^b\.t: DIFFERENT: /);
    expect(text).toContain('  lost: t-0 [5, 7)\n');
    expect(text).toContain('  doubled: t-0 [9, 10)\n');
    expect(text).toContain('  unknown: t-0 [700, 702)\n');
    expect(text).toContain('  without a row, 4 of them rightly: t-0 [20, 25)\n');
    expect(text).toContain('  12 other rows, of partitions that this checkpoint never read into the table');
    const misplaced = report(proof({ misplaced: 2n }));
    expect(verifyText(misplaced)).toContain('2 misplaced');
    expect(() => refuseDifferences([misplaced])).toThrowError(/VERIFY_DIFFERENCE: b\.t: .*2 misplaced/);
  });

  it('cuts long lists', () => {
    const missing = Array.from({ length: 1025 }, (_, i) => ({
      from: BigInt(2 * i),
      until: BigInt(2 * i + 1),
    }));
    expect(verifyText(report(proof({ lost: 1025n, missing })))).toContain('[38, 39) and 1,005 more\n');
  });

  it('tells what the brokers said', () => {
    const broker = { from: 100n, until: 600n, asked: 30, records: [] };
    expect(verifyText(report(proof({ broker })))).toContain(
      't-0: of [100, 600), which the brokers still have, 30 offsets have no row: no lost record there',
    );
    const records = [{ from: 120n, until: 121n }];
    expect(verifyText(report(proof({ broker: { ...broker, records } })))).toContain(
      'records at [120, 121) there',
    );
  });
});

describe('several tables', () => {
  const error = new SluiceError('NOT_VERIFIABLE', 'table b.u has no column topic');

  it('are told of each, those too of which nothing can be said', () => {
    const text = verifyTexts([report(proof())], [{ table: 'b.u', error }]);
    expect(text).toMatch(/^b\.t: ok: /);
    expect(text).toContain('\nb.u: NOT PROVEN: NOT_VERIFIABLE: table b.u has no column topic\n');
  });

  it('are ok in JSON only where all are proven', () => {
    expect(JSON.parse(verifyJson([report(proof())], []))).toMatchObject({
      ok: true,
      tables: [{ acceptedLoss: 400 }],
    });
    expect(JSON.parse(verifyJson([report(proof())], [{ table: 'b.u', error }]))).toMatchObject({
      ok: false,
      unproven: [{ table: 'b.u', code: 'NOT_VERIFIABLE' }],
    });
  });
});
