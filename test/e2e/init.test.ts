/** `sluice init` on a real broker: from a topic to a pipeline file to tables. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { withCluster, withProducer } from '../support/kafka-topics.ts';
import { sluice as runSluice } from './run-sluice.ts';

const kafka = useKafka();
const directory = mkdtempSync(join(tmpdir(), 'sluice-e2e-init-'));
const topics = {
  json: kafka.uniqueTopic('init-json'),
  empty: kafka.uniqueTopic('init-empty'),
  binary: kafka.uniqueTopic('init-binary'),
};
const sluice = (...argv: string[]) => runSluice(argv, { cwd: directory });
const init = (topic: string, ...more: string[]) =>
  sluice('init', '--bootstrap', kafka.bootstrap, '--topic', topic, ...more);

beforeAll(async () => {
  await withCluster(kafka.bootstrap, (cluster) =>
    cluster.createTopics(Object.values(topics).map((topic) => ({ topic, partitions: 3 }))),
  );
  await withProducer(kafka.bootstrap, topics.json, {}, async (producer) => {
    for (let i = 0; i < 300; i++) {
      const value =
        i === 7
          ? 'no JSON'
          : `{"id":${i},"at":"2026-07-14T09:05:06Z","items":[{"sku":"s${i}","qty":${i}}],"late":${i < 200 ? null : '"x"'}}`;
      await producer.append({
        topic: topics.json,
        partition: i % 3,
        key: `k${i}`,
        value,
        timestampMs: 1_784_000_000_000 + i,
      });
    }
  });
  await withProducer(kafka.bootstrap, topics.binary, {}, async (producer) => {
    await producer.append({
      topic: topics.binary,
      partition: 1,
      key: null,
      value: new Uint8Array([0xff, 1]),
      timestampMs: 1,
    });
  });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('init', () => {
  it('prints a pipeline with the columns of the values, and reads no more than it is asked to', async () => {
    const { code, stdout } = await init(topics.json, '--sample', '60', '-o', 'json');
    expect(code).toBe(0);
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({
      topic: topics.json,
      kind: 'json',
      values: 60,
      matching: 60,
      partitions: 3,
      offsets: 300,
      cut: false,
      textKeys: true,
      file: null,
      inference: { documents: 60, conflicts: [], refused: {} },
    });
    expect(found.pipeline).toContain(
      '        id BIGINT,\n        at TIMESTAMP,\n        items ARRAY<STRUCT<sku: STRING, qty: BIGINT>>,\n        late STRING\n',
    );
  });

  it('writes a file that validates, and never over another one', async () => {
    const first = await init(topics.json, '--out', 'made.yaml');
    expect(first).toMatchObject({
      code: 0,
      stdout:
        'made.yaml: a pipeline with 4 columns; look into it, then: sluice validate -c made.yaml --connect\n',
    });
    const text = readFileSync(join(directory, 'made.yaml'), 'utf8');
    expect(text).toContain(
      '# 299 of the 300 values are JSON objects; 1 is not, and would go to the quarantine.',
    );
    expect((await sluice('validate', '-c', 'made.yaml', '--connect')).code).toBe(0);
    writeFileSync(join(directory, 'made.yaml'), 'mine');
    const again = await init(topics.json, '--out', 'made.yaml');
    expect(again.code).toBe(64);
    expect(again.stderr).toContain('--out made.yaml: the file is there');
    expect(readFileSync(join(directory, 'made.yaml'), 'utf8')).toBe('mine');
    expect((await init(topics.json, '--out', 'made.yaml', '--force')).code).toBe(0);
    expect(readFileSync(join(directory, 'made.yaml'), 'utf8')).toBe(text);
  });

  it('makes a file that runs: each record is a row or in the quarantine', async () => {
    const run = await sluice('run', '-c', 'made.yaml', '--available-now');
    expect(run.code, run.stderr).toBe(0);
    const { stdout } = await sluice('table', 'list', '-c', 'made.yaml', '-o', 'json');
    const name = topics.json.replaceAll('-', '_');
    const rows = Object.fromEntries(
      JSON.parse(stdout).map((t: { table: string; rows: number }) => [t.table, t.rows]),
    );
    expect(rows).toEqual({ [`typed.${name}`]: 299, [`typed.${name}__quarantine`]: 1 });
    expect((await sluice('verify', '-c', 'made.yaml')).code).toBe(0);
  });

  it('keeps bytes of no known format as they are, and says where there are no records', async () => {
    const binary = await init(topics.binary);
    expect(binary.code).toBe(0);
    expect(binary.stdout).toContain('valueType: binary');
    const empty = await init(topics.empty);
    expect(empty.code).toBe(0);
    expect(empty.stdout).toContain('No record could be read');
    expect(existsSync(join(directory, 'sluice.yaml'))).toBe(false);
  });

  it('says that a topic is not there, or that no broker answers', async () => {
    const missing = await init(`${topics.json}-x`);
    expect(missing.code).toBe(69);
    expect(missing.stderr).toContain('TOPIC_NOT_FOUND');
    const nobody = await sluice('init', '--bootstrap', '127.0.0.1:1', '--topic', 't', '--timeout', '2s');
    expect(nobody.code).toBe(69);
    expect(nobody.stderr).toContain('BROKER_UNREACHABLE');
  });
});
