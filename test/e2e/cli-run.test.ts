/** The command line as a person uses it on a real broker: explain, validate, run, status, verify, tables, signals. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { fill, withCluster, withProducer } from '../support/kafka-topics.ts';
import { type Ended, sluice as runSluice, startSluice } from './run-sluice.ts';

const kafka = useKafka();
const directory = mkdtempSync(join(tmpdir(), 'sluice-e2e-run-'));
const topic = kafka.uniqueTopic('cli');
const table = `bronze.${topic.replaceAll('-', '_')}`;
const sluice = (...argv: string[]) => runSluice(argv, { cwd: directory });

beforeAll(async () => {
  await withCluster(kafka.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions: 3 }]));
  for (const partition of [0, 1, 2]) await fill(kafka.bootstrap, topic, partition, 100);
  await withProducer(kafka.bootstrap, topic, {}, async (producer) => {
    await producer.append({
      topic,
      partition: 0,
      key: null,
      value: new Uint8Array([0xff, 0xfe]),
      timestampMs: 1_784_000_000_000,
    });
  });
  writeFileSync(
    join(directory, 'sluice.yaml'),
    `name: cli
checkpointLocation: ./warehouse/_checkpoints/cli
catalog: { type: sqlite, uri: ./warehouse/catalog.db, warehouse: ./warehouse }
trigger: availableNow
memory: 128MB
source:
  kafka.bootstrap.servers: ${kafka.bootstrap}
  subscribe: ${topic}
  startingOffsets: earliest
  workers: 1
`,
  );
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: what a command prints is looked at as it comes
function json(ended: Ended): any {
  if (ended.code !== 0) throw new Error(`ended with ${ended.code}:\n${ended.stderr}`);
  return JSON.parse(ended.stdout);
}

describe('a pipeline from its first look to its last', () => {
  it('explain plans the first batch and writes nothing', async () => {
    const plan = json(await sluice('explain', '-o', 'json'));
    expect(plan).toMatchObject({
      pipeline: 'cli',
      batchId: 0,
      kind: 'fresh',
      offsets: 301,
      lag: 301,
      partitions: 3,
      routes: [{ topic, table }],
    });
    expect(plan.ranges).toHaveLength(3);
    const { stdout } = await sluice('explain');
    expect(stdout).toContain('batch 0 (the first batch): 301 offsets of 301 that wait; nothing was written');
    expect(json(await sluice('checkpoint', 'show', '-o', 'json'))).toMatchObject({
      id: null,
      lastPlanned: null,
    });
  });

  it('validate --connect finds everything', async () => {
    const { checks } = json(await sluice('validate', '--connect', '-o', 'json'));
    expect(checks.map((check: { what: string; result: string }) => `${check.result} ${check.what}`)).toEqual([
      'ok brokers',
      'ok topics',
      'ok reading',
      'ok warehouse',
      'ok checkpoint',
      'ok checkpoint state',
      'ok catalog',
      'ok tables',
    ]);
  });

  it('validate --connect does not promise a catalog that the first run cannot make', async () => {
    const inFile = join(directory, 'sluice.yaml', 'catalog.db');
    const ended = await sluice('validate', '--connect', '--set', `catalog.uri=${inFile}`);
    expect(ended.code).toBe(69);
    expect(ended.stderr).toContain(
      `error STORAGE_ERROR: could not write ${inFile}: a part of the path is a file, not a directory`,
    );
    expect(ended.stdout).toContain(`FAIL  catalog: STORAGE_ERROR: could not write ${inFile}`);
    expect(ended.stdout).toMatch(/^ {2}ok {4}brokers: /m);
  });

  it('run moves what is there, and says so in its words', async () => {
    const ended = await sluice('run', '-o', 'json', '--log-format', 'json');
    const summary = json(ended);
    expect(summary).toMatchObject({ batches: 1, records: 301, quarantined: 1, stopped: 'finished' });
    const lines = ended.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find((line) => line.batchId === 0 && line.records === 301)).toMatchObject({
      level: 'info',
      quarantined: 1,
    });
    const [progress] = readFileSync(
      join(directory, 'warehouse/_checkpoints/cli/_sluice/progress.jsonl'),
      'utf8',
    )
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(progress).toMatchObject({
      batchId: 0,
      name: 'cli',
      numInputRows: 301,
      sources: [
        {
          description: `KafkaV2[Subscribe[${topic}]]`,
          startOffset: { [topic]: { 0: 0, 1: 0, 2: 0 } },
          endOffset: { [topic]: { 0: 101, 1: 100, 2: 100 } },
        },
      ],
    });
    expect(progress.sluice.funnel).toMatchObject({ offsets: 301, rows: 300, quarantined: 1 });
  });

  it('run again has nothing to do', async () => {
    const { code, stdout } = await sluice('run');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^finished: 0 batches, 0 records/);
  });

  it('status knows the lag', async () => {
    expect(json(await sluice('status', '-o', 'json'))).toMatchObject({
      name: 'cli',
      readLag: 0,
      committedLag: 0,
      lost: 0,
      runningBy: null,
      checkpoint: { lastPlanned: 0, lastCommitted: 0 },
    });
    await fill(kafka.bootstrap, topic, 1, 7, { from: 100 });
    const status = json(await sluice('status', '-o', 'json'));
    expect(status).toMatchObject({ readLag: 7, committedLag: 7 });
    expect(status.partitions[1]).toMatchObject({
      topic,
      partition: 1,
      committed: 100,
      latest: 107,
      committedLag: 7,
    });
    const { stdout } = await sluice('status');
    expect(stdout).toMatch(/^committed lag +7$/m);
  });

  it('verify proves it', async () => {
    const proof = json(await sluice('verify', '-o', 'json'));
    expect(proof).toMatchObject({
      ok: true,
      tables: [{ table, ok: true, rows: 300, quarantined: 1, lost: 0, duplicated: 0 }],
    });
    const { code, stdout } = await sluice('verify', table);
    expect(code).toBe(0);
    expect(stdout).toContain(`${table}: ok: 300 rows, 1 quarantined, 0 lost, 0 doubled`);
    const unknown = await sluice('verify', 'bronze.nobody');
    expect(unknown.code).toBe(4);
    expect(unknown.stderr).toContain('error NOT_VERIFIABLE');
  });

  it('table shows what was written', async () => {
    const tables = json(await sluice('table', 'list', '-o', 'json'));
    expect(tables).toMatchObject([
      { table, rows: 300 },
      { table: `${table}__quarantine`, rows: 1 },
    ]);
    const shown = json(await sluice('table', 'show', table, '-o', 'json'));
    expect(shown.fields.map((field: { name: string }) => field.name)).toContain('kafka_offset');
    expect(shown.partitionBy).toMatchObject([{ source: 'dt' }, { source: 'hour' }]);
    const files = json(await sluice('table', 'files', table, '-o', 'json'));
    expect(files.reduce((sum: number, file: { rows: number }) => sum + file.rows, 0)).toBe(300);
    expect(files[0].partition).toMatch(/^dt=2026-07-14\/hour=\d+$/);
    const missing = await sluice('table', 'show', 'bronze.nobody');
    expect(missing.code).toBe(78);
    expect(missing.stderr).toContain('error TABLE_NOT_FOUND');
    const line = (text: string, begin: string) => text.split('\n').find((l) => l.startsWith(begin));
    expect(line((await sluice('table', 'list')).stdout, `${table} `)).toMatch(/ 300 +\d+ /);
    expect(line((await sluice('table', 'show', table)).stdout, 'partitioned by')).toBe(
      'partitioned by dt, hour',
    );
    expect((await sluice('table', 'files', table)).stdout).toMatch(/^dt=2026-07-14\/hour=\d+ +data +\d+ +/m);
  });

  it('checkpoint show has the offsets', async () => {
    expect(json(await sluice('checkpoint', 'show', '-o', 'json'))).toMatchObject({
      pipeline: 'cli',
      lastPlanned: 0,
      lastCommitted: 0,
      next: { kind: 'next', batchId: 1 },
      offsets: { [topic]: { 0: 101, 1: 100, 2: 100 } },
      tables: expect.arrayContaining([expect.objectContaining({ table })]),
    });
    expect((await sluice('checkpoint', 'show')).stdout).toContain('batch 1 is planned');
  });
});

describe('a run that goes on', () => {
  it('is seen by status, and ends with 0 on SIGTERM', async () => {
    const running = startSluice(['run', '--log-format', 'json', '--set', 'trigger.processingTime=1s'], {
      cwd: directory,
    });
    try {
      await running.untilStderr('"batchId":1');
      const status = json(await sluice('status', '-o', 'json'));
      expect(status).toMatchObject({ committedLag: 0, runningBy: { pid: running.child.pid } });
      running.child.kill('SIGTERM');
      const { code, stdout, stderr } = await running.ended;
      expect({ code, stdout: stdout.split(':')[0] }).toEqual({ code: 0, stdout: 'stopped as asked' });
      expect(stderr).toContain('SIGTERM: the running batch is finished');
      expect(json(await sluice('status', '-o', 'json')).runningBy).toBeNull();
    } finally {
      running.child.kill('SIGKILL');
    }
  });

  it('stops with data loss when records are gone, and status says so', async () => {
    await fill(kafka.bootstrap, topic, 2, 10, { from: 100 });
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteRecords(topic, 2, 105n));
    const status = await sluice('status');
    expect(status.code).toBe(3);
    expect(status.stdout).toMatch(/^LOSS\n {2}records were deleted before they were read: .*-2 \[100, 105\)/);
    const run = await sluice('run');
    expect(run.code).toBe(3);
    expect(run.stderr).toContain('error DATA_LOSS');
    expect(run.stderr).toContain('[100, 105)');
  });
});
