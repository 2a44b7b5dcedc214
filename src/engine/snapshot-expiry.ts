import type { BatchPlan, PreparedBatch } from '../checkpoint/records.ts';
import type { TableRule } from '../config/pipeline-config.ts';
import type { SnapshotExpiry } from '../iceberg/commit.ts';
import { parseRoutingText, quarantineOf, routeTopics } from './routing.ts';

const DAY_MS = 24 * 3_600_000;
/** Of a plan of before the option. */
const DEFAULT: TableRule['snapshots'] = { keep: 100, maxAgeMs: 5 * DAY_MS, max: 200 };

/** Which snapshots a commit of the batch expires in a table, data or quarantine, by the rule that it was planned under. */
export function snapshotExpiry(plan: BatchPlan, prepared: PreparedBatch): (table: string) => SnapshotExpiry {
  const topics = [...new Set(plan.ranges.map((r) => r.topic))];
  const routes = routeTopics(topics, parseRoutingText(plan.config.text).rules);
  return (table) => {
    const group = prepared.tables.find((t) => t.table === table)?.route?.group;
    const route = routes.find((r) => [r.table, quarantineOf(r.table)].includes(group ?? table));
    const { keep, maxAgeMs, max } = route?.rule.snapshots ?? DEFAULT;
    return { minSnapshotsToKeep: keep, maxAgeMs, maxSnapshotsToKeep: max };
  };
}
