/**
 * A pipeline in TypeScript: the options of YAML, with types and with a program around them.
 *
 *     sluice validate -c examples/typescript/sluice.config.ts
 */
import { defineConfig } from 'sluice';

/** Topic -> how many buckets its keys are spread over; none: by day and hour. */
const BUCKETS: Record<string, number | undefined> = { 'user-events': 16, 'page-views': 64, audit: undefined };

export default defineConfig(({ env }) => {
  const home = env['SLUICE_HOME'] ?? '.';
  return {
    name: 'events',
    memory: '256MB',
    checkpointLocation: `${home}/warehouse/_checkpoints/events`,
    catalog: { type: 'sqlite', uri: `${home}/warehouse/catalog.db`, warehouse: `${home}/warehouse` },
    trigger: { processingTime: '30 seconds' },
    source: {
      'kafka.bootstrap.servers': env['KAFKA_BOOTSTRAP_SERVERS'] ?? 'localhost:9092',
      subscribe: Object.keys(BUCKETS),
      startingOffsets: 'earliest',
      includeHeaders: true,
    },
    tables: Object.entries(BUCKETS).map(([match, buckets]) => ({
      match,
      partitionBy:
        buckets === undefined ? ['dt', 'hour'] : ['hours(kafka_timestamp)', `bucket(${buckets}, key)`],
      properties: { 'commit.manifest.min-count-to-merge': 50 },
    })),
  };
});
