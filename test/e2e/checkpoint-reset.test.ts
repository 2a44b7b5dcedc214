/** Records are lost under a pipeline, and a person recovers by what the errors say: the very commands of the messages. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startBroker, useKafka } from '../support/kafka.ts';
import { fill, withCluster } from '../support/kafka-topics.ts';
import { type Ended, sluice as runSluice } from './run-sluice.ts';

const kafka = useKafka();
let directory: string;
let topic: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-e2e-reset-'));
  topic = kafka.uniqueTopic('reset');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const sluice = (...argv: string[]) => runSluice(argv, { cwd: directory });
const table = () => `bronze.${topic.replaceAll('-', '_')}`;

function configure(bootstrap: string): void {
  writeFileSync(
    join(directory, 'sluice.yaml'),
    `name: reset
checkpointLocation: ./checkpoint
catalog: { type: sqlite, uri: ./catalog.db, warehouse: ./warehouse }
trigger: availableNow
memory: 128MB
source:
  kafka.bootstrap.servers: ${bootstrap}
  subscribe: ${topic}
  startingOffsets: earliest
  workers: 1
`,
  );
  mkdirSync(join(directory, 'warehouse'), { recursive: true });
}

async function createTopic(partitions: number): Promise<void> {
  await withCluster(kafka.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions }]));
  configure(kafka.bootstrap);
}

async function recreateTopic(partitions: number): Promise<void> {
  await withCluster(kafka.bootstrap, async (cluster) => {
    await cluster.deleteTopics([topic]);
    await cluster.createTopics([{ topic, partitions }]);
  });
}

// biome-ignore lint/suspicious/noExplicitAny: what a command prints is looked at as it comes
function json(ended: Ended): any {
  if (ended.code !== 0) throw new Error(`ended with ${ended.code}:\n${ended.stderr}`);
  return JSON.parse(ended.stdout);
}

/** The first `sluice checkpoint reset ...` that a text names, as words. */
function commandIn(text: string): string[] {
  const found = /`sluice (checkpoint reset [^`]+)`/.exec(text);
  if (found === null) throw new Error(`no command in: ${text}`);
  return found[1].replace(' --execute', '').split(' ');
}

/** Everything under the checkpoint, by name. */
function checkpointFiles(): Map<string, string> {
  const root = join(directory, 'checkpoint');
  return new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.jsonl'))
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path, readFileSync(path, 'latin1')];
      }),
  );
}

describe('a topic that was created anew', () => {
  it('is loaded after the reset that the error names: a preview, then --execute; no file is edited or deleted', async () => {
    await createTopic(1);
    await fill(kafka.bootstrap, topic, 0, 500);
    expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ records: 500 });
    await recreateTopic(1);
    await fill(kafka.bootstrap, topic, 0, 300);
    const stopped = await sluice('run');
    expect(stopped.code).toBe(3);
    expect(stopped.stderr).toContain('TOPIC_REPLACED');
    const command = commandIn(stopped.stderr);
    const before = checkpointFiles();
    const preview = await sluice(...command);
    expect(preview.code).toBe(0);
    expect(preview.stdout).toContain('batch 1 would be appended; nothing was written');
    expect(preview.stdout).toMatch(/ -> \S+ +500 +0 +0 +0 +0 +0\n/);
    expect(preview.stdout).toContain(`to do it: sluice ${command.join(' ')} --execute`);
    expect(checkpointFiles()).toEqual(before);
    const done = await sluice(...command, '--execute', '--reason', 'recreated on Monday');
    expect(done.code).toBe(0);
    expect(done.stdout).toContain('batch 1 was appended');
    const after = checkpointFiles();
    for (const [path, text] of before) expect([path, after.get(path)]).toEqual([path, text]);
    expect(after.size).toBe(before.size + 4);
    expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ batches: 1, records: 300 });
    const verified = json(await sluice('verify', '-o', 'json'));
    expect(verified).toMatchObject({ ok: true, tables: [{ table: table(), rows: 800 }] });
    const checked = json(await sluice('checkpoint', 'verify', '-o', 'json'));
    expect(checked).toMatchObject({ ok: true, batches: { first: 0, last: 2 }, faults: [] });
    expect(checked.notes.join()).toMatch(/batch 1 is a reset, by .*recreated on Monday/);
    const again = await sluice(...command, '--execute');
    expect(again.code).toBe(64);
    expect(again.stderr).toContain('RESET_REFUSED');
  });

  it('and is longer than before: nothing looks wrong by offsets, and no record is passed over', async () => {
    await createTopic(2);
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 50);
    json(await sluice('run', '-o', 'json'));
    await recreateTopic(2);
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 120);
    const stopped = await sluice('run');
    expect(stopped.stderr).toContain('TOPIC_REPLACED');
    const done = json(await sluice(...commandIn(stopped.stderr), '--execute', '-o', 'json'));
    expect(done).toMatchObject({ executed: true, batchId: 1, givesUpBatch: null });
    expect(
      done.moves.map((m: { from: number; to: number; replaced: boolean }) => [m.from, m.to, m.replaced]),
    ).toEqual([
      [50, 0, true],
      [50, 0, true],
    ]);
    expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ records: 240 });
    expect(json(await sluice('verify', '-o', 'json'))).toMatchObject({ ok: true, tables: [{ rows: 340 }] });
  });
});

describe('records that retention deleted', () => {
  it('are passed over on record after the reset that the error names (case C12)', async () => {
    await createTopic(2);
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 20);
    json(await sluice('run', '-o', 'json'));
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 60, { from: 20 });
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteRecords(topic, 1, 50n));
    const stopped = await sluice('run');
    expect(stopped.code).toBe(3);
    expect(stopped.stderr).toContain(`${topic}-1: offsets [20, 50)`);
    const command = commandIn(stopped.stderr);
    expect((await sluice(...command)).stdout).toContain(
      '30 offsets go on record as lost, 30 of them gone from the brokers',
    );
    expect((await sluice(...command, '--execute')).code).toBe(0);
    expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ records: 90 });
    const verified = json(await sluice('verify', '-o', 'json'));
    expect(verified).toMatchObject({ ok: true, tables: [{ rows: 130 }] });
    expect((await sluice('checkpoint', 'show')).stdout).toContain('planned 2, committed 2');
  });

  it('of one partition by --partition; what would double the table is refused and says how to go on', async () => {
    await createTopic(2);
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 20);
    json(await sluice('run', '-o', 'json'));
    const back = await sluice('checkpoint', 'reset', '--topic', topic, '--to', 'earliest');
    expect(back.code).toBe(0);
    expect(back.stdout).toMatch(/refused: .* would come again, .*--to unread.*--allow-duplicates/);
    const refusedBack = await sluice(
      'checkpoint',
      'reset',
      '--topic',
      topic,
      '--to',
      'earliest',
      '--execute',
    );
    expect([refusedBack.code, refusedBack.stdout]).toEqual([64, '']);
    const one = [
      'checkpoint',
      'reset',
      '--topic',
      topic,
      '--partition',
      '1',
      '--to',
      '10',
      '--allow-duplicates',
    ];
    expect((await sluice(...one, '--execute')).stdout).toContain(`10 offsets come again into ${table()}`);
    expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ records: 10 });
    const same = await sluice('checkpoint', 'reset', '--topic', topic, '--to', 'latest', '--execute');
    expect(same.stdout).toContain('nothing would change');
    await fill(kafka.bootstrap, topic, 0, 5, { from: 20 });
    const more = await sluice(
      'checkpoint',
      'reset',
      '-c',
      'sluice.yaml',
      '--topic',
      topic,
      '--to',
      '{"0":-1}',
    );
    expect(more.stdout).toContain(
      `to do it: sluice checkpoint reset --topic ${topic} --to '{"0":-1}' -c sluice.yaml --execute`,
    );
    writeFileSync(join(directory, 'checkpoint', 'commits', '1'), '');
    const torn = await sluice('checkpoint', 'verify');
    expect(torn.code).toBe(78);
    expect(torn.stdout).toMatch(/, 1 faults\nfault: .*commits\/1: it is empty/);
  });
});

describe('the command line', () => {
  it('says what it lacks', async () => {
    await createTopic(1);
    for (const [argv, code, text] of [
      [['--to', 'earliest'], 64, '--topic'],
      [['--topic', topic], 64, '--to'],
      [['--topic', topic, '--to', 'yesterday'], 64, 'earliest, latest, unread'],
      [['--topic', topic, '--cluster', '--to', 'earliest'], 64, 'cannot be used with'],
      [['--topic', topic, '--to', 'earliest'], 64, 'there is no checkpoint'],
      [['--topic', topic, '--to', 'earliest', '--execute'], 64, 'there is no checkpoint'],
    ] as const) {
      const ended = await sluice('checkpoint', 'reset', ...argv);
      expect([ended.code, ended.stdout]).toEqual([code, '']);
      expect(ended.stderr).toContain(text);
    }
    expect(readdirSync(directory).sort()).toEqual(['sluice.yaml', 'warehouse']);
  });
});

describe('another cluster', () => {
  it('is acknowledged with --cluster, as the error says', async () => {
    await createTopic(1);
    await fill(kafka.bootstrap, topic, 0, 20);
    json(await sluice('run', '-o', 'json'));
    const other = await startBroker();
    try {
      await withCluster(other.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions: 1 }]));
      await fill(other.bootstrap, topic, 0, 7);
      configure(other.bootstrap);
      const stopped = await sluice('run');
      expect(stopped.stderr).toContain('CLUSTER_REPLACED');
      const alone = await sluice('checkpoint', 'reset', '--topic', topic, '--to', 'earliest');
      expect(alone.stderr).toContain('RESET_REFUSED');
      expect((await sluice(...commandIn(stopped.stderr), '--execute')).code).toBe(0);
      expect(json(await sluice('run', '-o', 'json'))).toMatchObject({ records: 7 });
      expect(json(await sluice('verify', '-o', 'json'))).toMatchObject({ ok: true, tables: [{ rows: 27 }] });
    } finally {
      await other.stop();
    }
  });
});
