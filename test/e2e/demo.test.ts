/** The demo as `npm start` calls it, on the shared broker: two runs, what they print and report, and how it fails. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AD_TOPICS } from '../../src/cli/demo/ad-events.ts';
import { parseJson64 } from '../../src/core/json64.ts';
import { tableNameOfTopic } from '../../src/core/table-name.ts';
import { useKafka } from '../support/kafka.ts';
import { withCluster } from '../support/kafka-topics.ts';
import { BIN, type Ended, sluice as runSluice } from './run-sluice.ts';

const RECORDS = 3_000;
const kafka = useKafka();
const prefix = `${kafka.uniqueTopic('demo')}.`;
const topics = AD_TOPICS.map((topic) => prefix + topic);
const tables = topics.map((topic) => `bronze.${tableNameOfTopic(topic)}`).sort();
const cwd = mkdtempSync(join(tmpdir(), 'sluice-e2e-demo-'));
const report = join(cwd, '.sluice', 'demo', 'report.json');
const pipeline = join(BIN, '..', '..', 'examples', 'ad-events-bronze', 'sluice.yaml');

afterAll(async () => {
  rmSync(cwd, { recursive: true, force: true });
  await withCluster(kafka.bootstrap, async (cluster) => {
    const { topics: left } = await cluster.metadata(topics);
    await cluster.deleteTopics(left.map(({ topic }) => topic));
  });
});

const demo = (...argv: string[]) =>
  runSluice(
    ['demo', '--bootstrap', kafka.bootstrap, '--topic-prefix', prefix, '--records', String(RECORDS), ...argv],
    { cwd },
  );

interface Report {
  records: number;
  seconds: number;
  recordsPerSecond: number;
  batches: number;
  tables: { name: string; rows: number; dataFiles: number; snapshotId: bigint }[];
  verify: { ok: boolean; lost: number; duplicated: number };
}

const readReport = (): Report => parseJson64(readFileSync(report, 'utf8')) as Report;

/** A report of a run of `RECORDS` records, after which the tables hold `total` rows. */
function expectReport(found: Report, total: number): void {
  expect(found).toEqual({
    records: RECORDS,
    seconds: expect.any(Number),
    recordsPerSecond: expect.any(Number),
    batches: 1,
    tables: tables.map((name) => ({
      name,
      rows: expect.any(Number),
      dataFiles: expect.any(Number),
      snapshotId: expect.toSatisfy((id) => Number.isInteger(Number(id)) && BigInt(id) > 0n),
    })),
    verify: { ok: true, lost: 0, duplicated: 0 },
  });
  expect(found.tables.reduce((sum, { rows }) => sum + rows, 0)).toBe(total);
}

describe('sluice demo', () => {
  let first: Ended;
  let firstReport: Report;
  beforeAll(async () => {
    first = await demo();
    if (first.code === 0) firstReport = readReport();
  });

  it('makes the topics, loads the events and reports it', async () => {
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expectReport(firstReport, RECORDS);
    await withCluster(kafka.bootstrap, async (cluster) => {
      const found = await cluster.metadata(topics);
      expect(found.topics.map(({ partitions }) => partitions.length)).toEqual([3, 3, 3, 3]);
      expect(await cluster.topicConfig(topics[0])).toMatchObject({ 'retention.ms': '-1' });
    });
  });

  it('prints in plain text what was started, made and proven, and how to go on', () => {
    const { stdout } = first;
    for (const text of [
      ...topics,
      ...tables,
      kafka.bootstrap,
      '3,000 events',
      'each offset arrived exactly once',
    ])
      expect(stdout).toContain(text);
    expect(stdout).toMatch(/0 lost, 0 doubled/);
    expect(stdout).toContain(`sqlite:///${join('.sluice', 'demo', 'warehouse', 'catalog.db')}`);
    expect(stdout).not.toContain('\u001b');
    for (const { snapshotId } of firstReport.tables) expect(stdout).toContain(String(snapshotId));
  });

  it('counts the rows by source and Kafka partition', async () => {
    const lines = first.stdout.split('\n').filter((line) => topics.some((t) => line.startsWith(`${t} `)));
    const cells = lines.map((line) =>
      line
        .replaceAll(',', '')
        .trim()
        .split(/\s{2,}/),
    );
    expect(first.stdout).toMatch(/topic +partition +offsets +rows +source=dummy +source=criteo/);
    expect(cells.length).toBeGreaterThanOrEqual(8);
    const sum = (column: number) => cells.reduce((total, row) => total + Number(row[column]), 0);
    expect(sum(3)).toBe(RECORDS);
    expect(sum(4) + sum(5)).toBe(RECORDS);
    expect(sum(4)).toBeGreaterThan(sum(5));

    const env = { SLUICE_HOME: join(cwd, '.sluice', 'demo') };
    const argv = ['verify', '-c', pipeline, '--count-by', 'source', '-o', 'json'];
    const verified = JSON.parse((await runSluice(argv, { cwd, env })).stdout);
    expect(verified.ok).toBe(true);
    for (const table of verified.tables) {
      const { field, counts } = table.countBy;
      expect([field, Object.keys(counts).sort()]).toEqual(['source', ['criteo', 'dummy']]);
      expect(counts.criteo + counts.dummy).toBe(table.rows);
      for (const p of table.partitions) expect((p.counts?.criteo ?? 0) + (p.counts?.dummy ?? 0)).toBe(p.rows);
    }
  });

  it('run again, produces as many more and reads only those', async () => {
    const second = await demo('-o', 'json');
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('after the 3,000 that were there');
    const found = readReport();
    expectReport(found, 2 * RECORDS);
    expect(parseJson64(second.stdout)).toEqual(found);
    for (const [i, { snapshotId }] of found.tables.entries())
      expect(snapshotId).not.toBe(firstReport.tables[i].snapshotId);
  });

  it('leaves no report and says how to begin anew when the topics were replaced', async () => {
    expect(existsSync(report)).toBe(true);
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteTopics(topics));
    // More than before: topics that end early may only lag behind, and are asked again for a while.
    const replaced = await demo('--records', String(3 * RECORDS));
    expect(replaced.code).toBe(3);
    expect(replaced.stderr).toContain('error TOPIC_REPLACED');
    expect(replaced.stderr).toContain('removing .sluice/demo starts it afresh');
    expect(replaced.stderr).not.toMatch(/\n\s+at /);
    expect(existsSync(report)).toBe(false);
  });

  it('refuses a command line without a broker, and a number that is none', async () => {
    const unnamed = await runSluice(['demo'], { cwd });
    expect(unnamed).toMatchObject({ code: 64, stdout: '' });
    expect(unnamed.stderr).toContain('KAFKA_BOOTSTRAP_SERVERS');
    expect(await demo('--records', '0')).toMatchObject({ code: 64, stdout: '' });
  });
});
