/** SIGTERM and SIGINT, sent while the run stands still at a known place. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { standsStill } from '../support/process-state.ts';
import { type CliRun, TestPipeline } from '../support/test-pipeline.ts';

describe('a signal', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;
  let pipeline: TestPipeline;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'signal', 36);
  });
  afterAll(() => data.produced.close());
  // Three batches of 48 offsets.
  beforeEach(() => {
    pipeline = new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: 48 });
  });
  afterEach(() => pipeline.remove());

  /** Runs up to the point, sends the signals there, and lets the run go on. */
  async function signalled(point: string, ...signals: NodeJS.Signals[]): Promise<CliRun> {
    let child: ChildProcess | undefined;
    const run = pipeline.cli({
      failpoints: `${point}=stop`,
      onStart: (started) => {
        child = started;
      },
    });
    await standsStill(child!.pid!);
    for (const signal of signals) child!.kill(signal);
    child!.kill('SIGCONT');
    return run;
  }
  const commits = () =>
    readdirSync(join(pipeline.checkpoint, 'commits'))
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .sort();
  const finish = async (): Promise<void> => {
    const run = await pipeline.cli();
    expect(run.code, run.stderr).toBe(0);
    await checkExactlyOnce({ pipeline, produced: data.produced });
  };

  it.each([
    ['SIGTERM', 'after-offsets@2'],
    ['SIGTERM', 'read'],
    ['SIGINT', 'after-prepared@2'],
    ['SIGTERM', 'after-catalog-commit@6'],
    ['SIGINT', 'after-done@2'],
  ] as const)('%s at %s: the running batch is finished, then the run ends with 0', async (signal, point) => {
    const run = await signalled(point, signal);
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr).toContain(`${signal}: the running batch is finished`);
    expect(JSON.parse(run.stdout)).toMatchObject({ stopped: 'asked', batches: point === 'read' ? 1 : 2 });
    expect(commits()).toEqual(point === 'read' ? [0] : [0, 1]);
    await finish();
  });

  it.each(['read', 'after-prepared@2', 'before-catalog-commit@6'])(
    'a second one at %s stops at once, and the next run goes on',
    async (point) => {
      const run = await signalled(point, 'SIGINT', 'SIGTERM');
      expect([130, 143]).toContain(run.code);
      expect(run.stderr).toContain('again: stopped at once');
      await finish();
    },
  );

  it('while a run by time is idle ends it with 0 at once', async () => {
    const file = join(pipeline.directory, 'sluice.yaml');
    const run = await pipeline.cli({
      args: [
        'run',
        '-c',
        file,
        '--set',
        'trigger.processingTime=1 hour',
        '--log-format',
        'text',
        '-o',
        'json',
      ],
      onLog: (text, child) => {
        if (text.includes('batch 0')) child.kill('SIGTERM');
      },
    });
    expect(run.code, run.stderr).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ stopped: 'asked', batches: 1 });
    await finish();
  });
});
