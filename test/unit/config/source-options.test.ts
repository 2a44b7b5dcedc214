import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/config/fault.ts';
import { type LoadedPipeline, loadPipeline } from '../../../src/config/load-pipeline.ts';
import { isSluiceError } from '../../../src/errors.ts';

const load = (source: string, env: Record<string, string> = {}): Promise<LoadedPipeline> =>
  loadPipeline({
    file: 'sluice.yaml',
    text: [
      'name: p',
      'checkpointLocation: ./cp',
      'catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }',
      'trigger: { processingTime: 60s }',
      'source:',
      '  kafka.bootstrap.servers: h:9092',
      ...source.split('\n').map((line) => `  ${line}`),
    ].join('\n'),
    env,
    overrides: [],
    cwd: '/work',
    defaultWorkers: 2,
  });
const faults = async (source: string): Promise<string[]> => {
  try {
    await load(source);
  } catch (error) {
    if (isSluiceError(error, 'CONFIG_INVALID'))
      return (error.context.faults as Fault[]).map((f) => `${f.code} ${f.path} ${f.message}`);
    throw error;
  }
  return [];
};
const warned = async (source: string): Promise<string[]> =>
  (await load(source)).warnings.map((w) => `${w.code} ${w.path}`);
const start = async (source: string) => (await load(`subscribe: a\n${source}`)).config.source.startingOffsets;

describe('subscribePattern', () => {
  it('is taken as it is written, without space around it', async () => {
    const { config } = await load("subscribePattern: ' ads-(clicks|views) '");
    expect(config.source.selection).toEqual({ kind: 'subscribePattern', pattern: 'ads-(clicks|views)' });
  });

  it('says what JavaScript cannot do', async () => {
    expect(await faults("subscribePattern: 'a*+'")).toEqual([
      'WRONG_VALUE source.subscribePattern subscribePattern "a*+", character 3: possessive quantifiers such as *+ are not supported',
    ]);
  });

  it('excludes subscribe and assign', async () => {
    const found = await faults('subscribe: a\nassign: {"a":[0]}\nsubscribePattern: a');
    expect(found.map((f) => f.split(' ').slice(0, 2).join(' '))).toEqual([
      'CONTRADICTION source.assign',
      'CONTRADICTION source.subscribePattern',
    ]);
    expect((await faults('workers: 1'))[0]).toContain(
      'exactly one of subscribe, subscribePattern and assign says what is read',
    );
  });

  it('leaves the names of a map of offsets to the run', async () => {
    expect(await faults('subscribePattern: "a.*"\nstartingOffsets: {"a1":{"0":5}}')).toEqual([]);
  });
});

describe('where to begin', () => {
  const each = 'startingOffsetsByTimestamp: {"a":{"0":1784000000000,"1":"2026-07-14T03:33:20.001Z"}}';

  it('by a time for all, in milliseconds or with a zone', async () => {
    const expected = { kind: 'timestamp', timestampMs: 1_784_000_000_000n, noMatch: 'error' };
    expect(await start('startingTimestamp: 1784000000000')).toEqual(expected);
    expect(await start('startingTimestamp: "2026-07-14T03:33:20Z"')).toEqual(expected);
    expect(await start('startingTimestamp: 5\nstartingOffsetsByTimestampStrategy: latest')).toEqual({
      kind: 'timestamp',
      timestampMs: 5n,
      noMatch: 'latest',
    });
  });

  it('by a time for each partition, as a map or as JSON text', async () => {
    const timestampsMs = new Map([
      [
        'a',
        new Map([
          [0, 1_784_000_000_000n],
          [1, 1_784_000_000_001n],
        ]),
      ],
    ]);
    expect(await start(each)).toEqual({ kind: 'timestamps', timestampsMs, noMatch: 'error' });
    expect(await start(`startingOffsetsByTimestamp: '{"a":{"0":7}}'`)).toMatchObject({
      timestampsMs: new Map([['a', new Map([[0, 7n]])]]),
    });
  });

  it("has Spark's precedence, and says which options have no effect", async () => {
    const all = `startingOffsets: earliest\n${each}\nstartingTimestamp: 5`;
    expect(await start(all)).toMatchObject({ kind: 'timestamp' });
    expect(await warned(`subscribe: a\n${all}`)).toEqual([
      'NO_EFFECT source.startingOffsetsByTimestamp',
      'NO_EFFECT source.startingOffsets',
    ]);
    expect(await start(`startingOffsets: earliest\n${each}`)).toMatchObject({ kind: 'timestamps' });
    expect(await warned('subscribe: a\nstartingOffsetsByTimestampStrategy: latest')).toEqual([
      'NO_EFFECT source.startingOffsetsByTimestampStrategy',
    ]);
  });

  it.each([
    ['startingTimestamp: "2026-07-14T03:33:20"', 'WRONG_VALUE source.startingTimestamp'],
    ['startingTimestamp: -1', 'WRONG_VALUE source.startingTimestamp'],
    ['startingTimestamp: yesterday', 'WRONG_VALUE source.startingTimestamp'],
    ['startingOffsetsByTimestamp: {"a":{"0":-1}}', 'WRONG_VALUE source.startingOffsetsByTimestamp'],
    ['startingOffsetsByTimestamp: 5', 'WRONG_VALUE source.startingOffsetsByTimestamp'],
    ['startingOffsetsByTimestamp: {"b":{"0":1}}', 'CONTRADICTION source.startingOffsetsByTimestamp'],
    ['startingOffsetsByTimestampStrategy: earliest', 'WRONG_VALUE source.startingOffsetsByTimestampStrategy'],
  ])('refuses %s', async (line, expected) => {
    expect((await faults(`subscribe: a\n${line}`))[0]).toContain(expected);
  });
});

describe('how much at once', () => {
  it('reads every limit, from the environment too', async () => {
    const limits = [
      'maxOffsetsPerTrigger: auto',
      'minOffsetsPerTrigger: 500',
      'maxTriggerDelay: 2 minutes',
      'maxBytesPerTrigger: 1GB',
      'maxRecordsPerPartition: 70',
    ].join('\n');
    const { config } = await load(`subscribe: a\n${limits}`);
    expect(config.source).toMatchObject({
      maxOffsetsPerTrigger: 'auto',
      minOffsetsPerTrigger: 500n,
      maxTriggerDelayMs: 120_000,
      maxBytesPerTrigger: 2 ** 30,
      maxRecordsPerPartition: 70n,
    });
    const env = { SLUICE_MAX_OFFSETS_PER_TRIGGER: 'auto', SLUICE_MIN_OFFSETS_PER_TRIGGER: '7' };
    expect((await load('subscribe: a\nmaxOffsetsPerTrigger: 5', env)).config.source).toMatchObject({
      maxOffsetsPerTrigger: 'auto',
      minOffsetsPerTrigger: 7n,
    });
  });

  it.each([
    [
      'maxOffsetsPerTrigger: automatic',
      'WRONG_VALUE source.maxOffsetsPerTrigger expected auto, or a whole number',
    ],
    ['minOffsetsPerTrigger: 0', 'WRONG_VALUE source.minOffsetsPerTrigger'],
    ['maxTriggerDelay: soon', 'WRONG_VALUE source.maxTriggerDelay'],
    ['maxBytesPerTrigger: 0', 'WRONG_VALUE source.maxBytesPerTrigger'],
    ['maxRecordsPerPartition: 0', 'WRONG_VALUE source.maxRecordsPerPartition'],
    [
      'minOffsetsPerTrigger: 6\nmaxOffsetsPerTrigger: 5',
      'CONTRADICTION source.minOffsetsPerTrigger 6 is more than maxOffsetsPerTrigger, 5',
    ],
  ])('refuses %s', async (lines, expected) => {
    expect((await faults(`subscribe: a\n${lines}`))[0]).toContain(expected);
  });

  it('says that maxTriggerDelay alone has no effect', async () => {
    expect(await warned('subscribe: a\nmaxTriggerDelay: 5m')).toEqual(['NO_EFFECT source.maxTriggerDelay']);
    expect(await warned('subscribe: a\nmaxTriggerDelay: 5m\nminOffsetsPerTrigger: 5')).toEqual([]);
  });

  it.each(['endingOffsets: latest', 'endingTimestamp: 5', 'endingOffsetsByTimestamp: {}'])(
    '%s is for bounded runs: the way to end a run is named',
    async (line) => {
      expect((await faults(`subscribe: a\n${line}`))[0]).toContain('`sluice run --until');
    },
  );
});
