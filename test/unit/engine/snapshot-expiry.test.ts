import { expect, it } from 'vitest';
import type { BatchPlan, PreparedBatch } from '../../../src/checkpoint/records.ts';
import type { TableRule } from '../../../src/config/pipeline-config.ts';
import { routingText } from '../../../src/engine/routing.ts';
import { snapshotExpiry } from '../../../src/engine/snapshot-expiry.ts';

const rule = (match: string, snapshots?: TableRule['snapshots']): TableRule =>
  ({ match, table: 'bronze.${topic}', ...(snapshots === undefined ? {} : { snapshots }) }) as TableRule;

function planOf(rules: TableRule[], topics: string[]): BatchPlan {
  const ranges = topics.map((topic) => ({ topic, partition: 0, from: 0n, until: 1n }));
  return { ranges, config: { hash: '', text: routingText(rules, false) } } as unknown as BatchPlan;
}

it('each table keeps what its own rule says, its quarantine too; a plan of before the option keeps the default', () => {
  const expiry = snapshotExpiry(
    planOf([rule('ads', { keep: 3, maxAgeMs: 60_000, max: 9 }), rule('*')], ['ads', 'clicks']),
    { tables: [] } as unknown as PreparedBatch,
  );
  const own = { minSnapshotsToKeep: 3, maxAgeMs: 60_000, maxSnapshotsToKeep: 9 };
  const byDefault = { minSnapshotsToKeep: 100, maxAgeMs: 432_000_000, maxSnapshotsToKeep: 200 };
  expect(expiry('bronze.ads')).toEqual(own);
  expect(expiry('bronze.ads__quarantine')).toEqual(own);
  expect(expiry('bronze.clicks')).toEqual(byDefault);
  expect(expiry('bronze.clicks__quarantine')).toEqual(byDefault);
});

it('a table of a group keeps what the rule of the group says', () => {
  const route = { by: 'kind', tables: {}, unknown: 'create', maxTables: 9 } as const;
  const rules = [{ ...rule('ads', { keep: 3, maxAgeMs: 60_000, max: 9 }), route, table: 'silver.${route}' }];
  const prepared = {
    tables: [{ table: 'silver.click', route: { group: 'silver.${route}', value: 'click' } }],
  };
  const expiry = snapshotExpiry(planOf(rules, ['ads']), prepared as unknown as PreparedBatch);
  expect(expiry('silver.click').minSnapshotsToKeep).toBe(3);
});
