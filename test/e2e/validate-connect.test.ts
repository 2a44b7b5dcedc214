/** `validate --connect` on a real broker: every check tells its own result, in the time that was given. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeRegistry } from '../support/fake-registry.ts';
import { createTopic, fillOdd } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import { TestPipeline, type TestPipelineOptions } from '../support/test-pipeline.ts';

interface Check {
  what: string;
  result: 'ok' | 'failed' | 'skipped';
  code?: string;
  message?: string;
  found?: string;
}

describe('validate --connect', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let topic: string;
  let mute: Server;
  let deaf: string;
  const made: TestPipeline[] = [];

  beforeAll(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'connect', 2);
    await fillOdd(produced, topic, 2, 20);
    // It takes connections and never answers.
    mute = createServer();
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    deaf = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    mute.close();
    await produced.close();
  });
  afterEach(() => {
    for (const pipeline of made.splice(0)) pipeline.remove();
  });

  const begin = (more: Partial<TestPipelineOptions> = {}): TestPipeline => {
    const pipeline = new TestPipeline({ bootstrap, topics: [topic], ...more });
    made.push(pipeline);
    return pipeline;
  };

  async function validate(pipeline: TestPipeline, ...args: string[]) {
    const file = join(pipeline.directory, 'sluice.yaml');
    const run = await pipeline.cli({ args: ['validate', '--connect', '-c', file, '-o', 'json', ...args] });
    const { valid, checks } = JSON.parse(run.stdout) as { valid: boolean; checks: Check[] };
    expect(valid).toBe(true);
    const failed = Object.fromEntries(
      checks.filter((c) => c.result === 'failed').map((c) => [c.what, c.code]),
    );
    const error = run.code === 0 ? undefined : JSON.parse(run.stderr.trim().split('\n').at(-1)!).error;
    return {
      code: run.code,
      checks,
      failed,
      error,
      text: (what: string) => checks.find((c) => c.what === what),
    };
  }

  it.each(['sqlite', 'file'] as const)(
    'finds all well before the first run and after it; catalog %s',
    async (catalogType) => {
      const pipeline = begin({ catalogType });
      const before = await validate(pipeline);
      expect(before).toMatchObject({ code: 0, failed: {} });
      expect(before.text('tables')?.found).toBe('2 tables to be created by the first run');
      expect(before.text('checkpoint state')?.found).toBe('nothing was ever run here');
      await pipeline.run();
      const after = await validate(pipeline);
      expect(after).toMatchObject({ code: 0, failed: {} });
      expect(after.text('tables')?.found).toBe('2 tables there');
      expect(after.text('checkpoint state')?.found).toMatch(/^batches up to 0, \d+ files read, no fault$/);
      // It has looked, and left nothing.
      expect((await pipeline.run()).summary.batches).toBe(0);
    },
  );

  it('tells of every fault at once, none hiding another', async () => {
    const pipeline = begin({ topics: [topic, 'no-such-topic', 'nor-this'] });
    writeFileSync(join(pipeline.directory, 'taken'), 'a file');
    mkdirSync(join(pipeline.checkpoint, 'offsets'), { recursive: true });
    writeFileSync(join(pipeline.checkpoint, 'offsets', '0'), 'v1\ntorn');
    const at = join(pipeline.directory, 'taken');
    const { code, failed, checks, error } = await validate(
      pipeline,
      ...['--set', `catalog.warehouse=${at}/warehouse`, '--set', `catalog.uri=${at}/catalog.db`],
    );
    expect(failed).toEqual({
      'topic no-such-topic': 'TOPIC_NOT_FOUND',
      'topic nor-this': 'TOPIC_NOT_FOUND',
      warehouse: 'STORAGE_ERROR',
      'checkpoint state': 'CHECKPOINT_CORRUPT',
      catalog: 'STORAGE_ERROR',
      [`table ${pipeline.tableOf(topic)}`]: 'STORAGE_ERROR',
      'table bronze.no_such_topic': 'STORAGE_ERROR',
      'table bronze.nor_this': 'STORAGE_ERROR',
    });
    expect(checks.filter((c) => c.result === 'skipped').map((c) => c.what)).toEqual(['reading']);
    expect(code).toBe(69);
    expect(error).toMatchObject({ code: 'TOPIC_NOT_FOUND', context: { failed: 8 } });
    expect(error.message).toContain('8 of 11 checks failed');
  });

  it('checks the rest where no broker answers, and names its own limit', async () => {
    const pipeline = begin({ bootstrap: deaf });
    const { code, failed, checks } = await validate(pipeline, '--timeout', '1500ms');
    expect({ code, failed }).toEqual({ code: 69, failed: { brokers: 'BROKER_UNREACHABLE' } });
    const { message } = checks[0];
    expect(message).toMatch(/--timeout/);
    expect(message).not.toContain('kafka.request.deadline');
    expect(checks.slice(1).map((c) => `${c.result} ${c.what}`)).toEqual([
      'skipped topics',
      'skipped reading',
      'ok warehouse',
      'ok checkpoint',
      'ok checkpoint state',
      'ok catalog',
      'ok tables',
    ]);
  });

  it('names the limit of the pipeline where that one is the shorter', async () => {
    const pipeline = begin({ bootstrap: '127.0.0.1:9', source: { 'kafka.request.deadline': '1 second' } });
    const { checks } = await validate(pipeline);
    expect(checks[0].message).toContain('(kafka.request.deadline)');
  });

  it('asks the registry also where no table needs it, and names its fault in time', async () => {
    const schema = JSON.stringify({
      type: 'record',
      name: 'Order',
      fields: [{ name: 'id', type: 'long' }],
    });
    const registry = await FakeRegistry.start([{ id: 7, subject: `${topic}-value`, version: 1, schema }]);
    try {
      const avro = (url: string): Partial<TestPipelineOptions> => ({
        table: { layout: 'typed', value: { format: 'avro' } },
        more: `registry: { schema.registry.url: "${url}" }`,
      });
      const well = await validate(begin(avro(registry.url)));
      expect(well).toMatchObject({ code: 0, failed: {} });
      expect(well.text('registry')?.found).toBe(`answers, has ${topic}-value`);

      const table = { layout: 'typed', value: { format: 'avro', schema: 'id BIGINT' } } as const;
      registry.always = (response) => void response.writeHead(401).end('{}');
      const refused = await validate(begin({ ...avro(registry.url), table }));
      expect(refused).toMatchObject({ failed: { registry: 'REGISTRY_AUTH' } });
      expect(refused.text('tables')?.result).toBe('skipped');

      await registry.down();
      const gone = await validate(begin({ ...avro(registry.url), table }), '--timeout', '1500ms');
      expect(gone).toMatchObject({ code: 69, failed: { registry: 'REGISTRY_UNREACHABLE' } });
      expect(gone.text('registry')?.message).toContain('ECONNREFUSED');
    } finally {
      await registry.down();
    }
  });

  it('finds two rules that cannot share a table, and counts one that they share once', async () => {
    const other = await createTopic(bootstrap, 'connect-other', 1);
    const typed = (schema: string) => ({ layout: 'typed', value: { format: 'json', schema } });
    const intoTable = 'silver.shared';
    const shared = begin({ topics: [topic, other], intoTable, table: typed('a INT') });
    expect((await validate(shared)).text('tables')?.found).toBe('2 tables to be created by the first run');
    const rules = [{ match: topic, table: intoTable, ...typed('b INT') }];
    const apart = begin({ topics: [topic, other], intoTable, table: typed('a INT'), rules });
    expect((await validate(apart)).failed).toEqual({ 'table silver.shared': 'TABLE_INCOMPATIBLE' });
  });

  it.skipIf(process.platform !== 'linux')(
    'ends where no directory can be made, as under /proc; so does run',
    async () => {
      const pipeline = begin({ warehouse: '/proc/none/warehouse', checkpoint: '/proc/none/checkpoint' });
      const { failed } = await validate(pipeline);
      expect(failed).toEqual({ warehouse: 'STORAGE_ERROR', checkpoint: 'STORAGE_ERROR' });
      const run = await pipeline.cli();
      expect(run.code).toBe(69);
      expect(run.stderr).toContain(
        'could not write /proc/none/checkpoint/metadata: no directory can be made',
      );
      const readable = begin({ warehouse: '/proc/none/warehouse' });
      const second = await readable.cli();
      expect(second.code).toBe(69);
      expect(second.stderr).toMatch(
        /could not \w+ file:\/\/\/proc\/none\/warehouse\/.*no directory can be made/,
      );
    },
  );

  it('knows tables that were dropped, made anew, or cannot take the rows', async () => {
    const pipeline = begin();
    await pipeline.run();
    const name = pipeline.tableOf(topic);
    const identifier = { namespace: ['bronze'], name: name.slice('bronze.'.length) };
    const catalog = await pipeline.openCatalog();
    await catalog.dropTable(identifier);
    expect((await validate(pipeline)).failed).toEqual({ [`table ${name}`]: 'TABLE_REWOUND' });
    await catalog.createTable(identifier, {
      schema: {
        type: 'struct',
        schemaId: 0,
        fields: [{ id: 1, name: 'must', required: true, type: 'int' }],
      },
      partitionSpec: { specId: 0, fields: [] },
      properties: {},
      formatVersion: 2,
    });
    await catalog.close();
    const { failed, error } = await validate(pipeline);
    expect(failed).toEqual({ [`table ${name}`]: 'TABLE_INCOMPATIBLE' });
    expect(error.message).toContain('must');
  });

  it('shows a line for each check to people, and what to do', async () => {
    const pipeline = begin({ topics: ['no-such-topic'] });
    const file = join(pipeline.directory, 'sluice.yaml');
    const { code, stdout, stderr } = await pipeline.cli({ args: ['validate', '--connect', '-c', file] });
    expect(code).toBe(69);
    expect(stdout).toMatch(/^ {2}ok {4}brokers: cluster \S+ at /m);
    expect(stdout).toMatch(/^ {2}FAIL {2}topics: TOPIC_NOT_FOUND: topic no-such-topic does not exist/m);
    expect(stdout).toMatch(/^ {8}Create the topic, or mend `subscribe`\.$/m);
    expect(stdout).toMatch(/^ {2}skip {2}reading: not tried, not all topics were found$/m);
    expect(stderr).toContain('error TOPIC_NOT_FOUND');
  });
});

describe('validate and explain over a file catalog', () => {
  const { bootstrap } = useKafka();
  it('each say once that the specification calls it unsafe; so does run', async () => {
    const topic = await createTopic(bootstrap, 'unsafe', 1);
    const pipeline = new TestPipeline({ bootstrap, topics: [topic], catalogType: 'file' });
    const file = join(pipeline.directory, 'sluice.yaml');
    for (const args of [['validate'], ['explain'], ['run', '--available-now', '--log-format', 'json']]) {
      const { code, stderr } = await pipeline.cli({ args: [...args, '-c', file] });
      expect(code, stderr).toBe(0);
      expect(stderr.match(/calls a catalog of files unsafe/g)).toHaveLength(1);
    }
    const strict = await pipeline.cli({ args: ['validate', '--strict', '-c', file] });
    expect(strict.code).toBe(78);
    pipeline.remove();
  });
});
