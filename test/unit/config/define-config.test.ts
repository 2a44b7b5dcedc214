import { expect, it } from 'vitest';
import {
  defineConfig,
  type FormatInput,
  type PipelineInput,
  type SourceInput,
  type TableInput,
} from '../../../src/config/define-config.ts';
import { loadPipeline } from '../../../src/config/load-pipeline.ts';
import { optionsOf } from '../../../src/config/options.ts';
import { topLevelKeys } from '../../../src/config/schema.ts';

/** Every key of the types, checked by the compiler to be complete: an option that is forgotten there is found here. */
const source: Record<keyof Omit<SourceInput, `kafka.${string}`> | 'kafka.bootstrap.servers', true> = {
  'kafka.bootstrap.servers': true,
  subscribe: true,
  subscribePattern: true,
  assign: true,
  startingOffsets: true,
  startingTimestamp: true,
  startingOffsetsByTimestamp: true,
  startingOffsetsByTimestampStrategy: true,
  maxOffsetsPerTrigger: true,
  minOffsetsPerTrigger: true,
  maxTriggerDelay: true,
  maxBytesPerTrigger: true,
  minPartitions: true,
  maxRecordsPerPartition: true,
  failOnDataLoss: true,
  includeHeaders: true,
  workers: true,
  'fetchOffset.numRetries': true,
  'fetchOffset.retryIntervalMs': true,
  'kafkaConsumer.pollTimeoutMs': true,
  commitOffsetsToKafka: true,
  groupIdPrefix: true,
};
const table: Record<keyof TableInput, true> = {
  match: true,
  layout: true,
  value: true,
  key: true,
  provenance: true,
  evolve: true,
  route: true,
  table: true,
  partitionBy: true,
  timeZone: true,
  valueType: true,
  keyType: true,
  tombstones: true,
  maxRecordBytes: true,
  formatVersion: true,
  codec: true,
  codecLevel: true,
  targetFileSize: true,
  keepSnapshots: true,
  keepSnapshotsFor: true,
  maxSnapshots: true,
  properties: true,
};
const top: Record<keyof PipelineInput, true> = {
  name: true,
  engine: true,
  memory: true,
  checkpointLocation: true,
  catalog: true,
  trigger: true,
  source: true,
  tables: true,
  registry: true,
  quarantine: true,
  shutdown: true,
  retention: true,
  progress: true,
  alerts: true,
  http: true,
};

const format: Record<keyof FormatInput, true> = {
  format: true,
  schema: true,
  subject: true,
  inferRecords: true,
  mode: true,
  corruptRecordColumn: true,
  compat: true,
  unknownFields: true,
  restColumn: true,
  caseInsensitive: true,
  timestampUnit: true,
  decimalRounding: true,
  nullDocument: true,
  delimiter: true,
  quote: true,
  escape: true,
  nullValue: true,
  framing: true,
  writerSchema: true,
  readerSchema: true,
  message: true,
};

it('the types of defineConfig name every option', () => {
  const declared = optionsOf('source')
    .map((option) => option.key)
    .filter((key) => !key.startsWith('kafka.') || key === 'kafka.bootstrap.servers');
  expect(Object.keys(source).sort()).toEqual(declared.sort());
  expect(Object.keys(table).sort()).toEqual(
    [...optionsOf('tables[]').map((option) => option.key), 'value', 'key', 'route'].sort(),
  );
  expect(Object.keys(format).sort()).toEqual(
    optionsOf('tables[].value')
      .map((option) => option.key)
      .sort(),
  );
  expect(Object.keys(top).sort()).toEqual(topLevelKeys().sort());
});

it('defineConfig gives back what it was given', async () => {
  const pipeline = defineConfig({
    name: 'p',
    checkpointLocation: 'cp',
    catalog: { type: 'sqlite', uri: 'c.db', warehouse: 'w' },
    source: { 'kafka.bootstrap.servers': 'h:1', 'kafka.client.rack': 'r', subscribe: ['a'] },
  });
  const { config } = await loadPipeline({
    file: 'f',
    text: JSON.stringify(pipeline),
    env: {},
    overrides: [],
    cwd: '/',
  });
  expect(config).toMatchObject({ name: 'p', source: { kafka: { 'client.rack': 'r' } } });
});
