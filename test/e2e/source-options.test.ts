/** What is read, as a person says it: patterns, times, limits and ends of a run, shown by explain, validate and status. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { fill, withCluster, withProducer } from '../support/kafka-topics.ts';
import { type Ended, sluice as runSluice } from './run-sluice.ts';

const kafka = useKafka();
const directory = mkdtempSync(join(tmpdir(), 'sluice-e2e-source-'));
const topic = kafka.uniqueTopic('options');
const sluice = (...argv: string[]) => runSluice(argv, { cwd: directory });
const FIRST_MS = 1_784_000_000_000;

beforeAll(async () => {
  await withCluster(kafka.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions: 2 }]));
  for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 100);
  writeFileSync(
    join(directory, 'sluice.yaml'),
    `name: options
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./catalog.db, warehouse: ./w }
memory: 128MB
source:
  kafka.bootstrap.servers: ${kafka.bootstrap}
  subscribePattern: "${topic.slice(0, -2)}.."
  startingTimestamp: ${FIRST_MS + 10}
  workers: 4
  maxOffsetsPerTrigger: auto
  minOffsetsPerTrigger: 50
`,
  );
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: what a command prints is looked at as it comes
function json(ended: Ended): any {
  if (ended.code !== 0) throw new Error(`ended with ${ended.code}:\n${ended.stderr}`);
  return JSON.parse(ended.stdout);
}
const run = async (...argv: string[]) => json(await sluice('run', '-o', 'json', ...argv));

describe('the options of a source on the command line', () => {
  it('explain begins where the time says, with the limit and the cap of the partitions', async () => {
    const plan = json(await sluice('explain', '-o', 'json'));
    expect(plan).toMatchObject({
      kind: 'fresh',
      offsets: 180,
      lag: 180,
      limit: { maxOffsets: 100_000, by: 'auto' },
      minOffsets: 50,
      producedPerSecond: 0,
      tasks: 1,
      workers: 4,
      partitions: 2,
      partitionsToRead: 2,
    });
    const { stdout } = await sluice('explain');
    expect(stdout).toMatch(/^limit +100,000 offsets by auto \(where auto begins\)$/m);
    expect(stdout).toMatch(/^minimum +later batches of a run wait for 50 offsets$/m);
    expect(stdout).toMatch(/^tasks +1 on 4 workers; a batch of this size is worth no more/m);
    expect(stdout).toMatch(/^partitions +2 to read of 2, fewer than the 4 workers: .* caps the gain/m);
    expect(stdout).toMatch(/^comes in +nothing in the last hour$/m);
    expect(stdout).toMatch(/^files a day +unknown/m);
  });

  it('validate --connect asks for what the pattern takes', async () => {
    const { checks } = json(await sluice('validate', '--connect', '-o', 'json'));
    expect(checks).toContainEqual({ what: 'topics', result: 'ok', found: '1 topic, 2 partitions' });
    const none = await sluice('validate', '--connect', '--set', 'source.subscribePattern=no-such-.*');
    expect(none.code).toBe(69);
    expect(none.stderr).toContain('no topic on');
  });

  it('validate shows where a pattern is wrong', async () => {
    const ended = await sluice('validate', '--set', 'source.subscribePattern=a(?>b)');
    expect(ended.code).toBe(78);
    expect(ended.stderr).toContain('character 2: atomic groups (?>...) are not supported');
  });

  it('run --until a time, offsets, the newest', async () => {
    const time = new Date(FIRST_MS + 30).toISOString();
    expect(await run('--until', time)).toMatchObject({ records: 40, stopped: 'finished' });
    expect(await run('--until', JSON.stringify({ [topic]: { 0: 50, 1: 31 } }))).toMatchObject({
      records: 21,
    });
    expect(await run('--until', String(FIRST_MS))).toMatchObject({ records: 0, batches: 0 });
    const beyond = await sluice('run', '--until', JSON.stringify({ [topic]: { 0: 101, 1: -1 } }));
    expect(beyond.code).toBe(78);
    expect(beyond.stderr).toContain('can be read up to 100 now');
    expect(await run('--until', 'latest')).toMatchObject({ records: 119 });
  });

  it.each([['yesterday'], ['{"t":{"0":-2}}'], ['earliest'], ['2026-07-14T09:00:00']])(
    'run --until %s is no end',
    async (end) => {
      const ended = await sluice('run', '--until', end);
      expect(ended.code).toBe(64);
      expect(ended.stderr).toContain('expected latest, a time');
    },
  );

  it('run --until goes with no other trigger', async () => {
    expect((await sluice('run', '--until', 'latest', '--once')).code).toBe(64);
  });

  it('status shows the limit of the next batch', async () => {
    const { stdout } = await sluice('status');
    expect(stdout).toMatch(/^batch limit +100,000 offsets by auto, where auto begins$/m);
  });

  it('explain forecasts by what came in during the last hour', async () => {
    await withProducer(kafka.bootstrap, topic, {}, async (producer) => {
      for (let i = 0; i < 7200; i++)
        await producer.append({ topic, partition: i % 2, key: null, value: 'v', timestampMs: Date.now() });
    });
    const plan = json(await sluice('explain', '-o', 'json'));
    expect(plan).toMatchObject({ kind: 'next', offsets: 7200, lag: 7200, producedPerSecond: 2 });
    expect(plan.forecast).toMatchObject({
      drainMs: expect.any(Number),
      steady: { filesPerDay: 1440, recordsPerFile: 120, fileBytes: expect.any(Number) },
    });
    const { stdout } = await sluice('explain');
    expect(stdout).toMatch(/^comes in +about 2\/s in the last hour$/m);
    expect(stdout).toMatch(/^backlog drained +in about .*, with what comes in meanwhile$/m);
    expect(stdout).toMatch(/^files a day +about 1,\d+, .* on average, as recent batches made them$/m);
  });
});
