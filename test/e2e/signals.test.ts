/** SIGTERM and SIGINT, sent while the run stands still at a known place. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { startBroker, useKafka } from '../support/kafka.ts';
import { standsStill } from '../support/process-state.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
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
  /** Ends a run; a second signal would stop it at once. */
  const signalOnce = () => {
    let sent = false;
    return (child: ChildProcess): void => {
      if (!sent) child.kill('SIGTERM');
      sent = true;
    };
  };
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

  it('while no broker answers ends the run at once with 0', async () => {
    // Nothing listens there, and the run would try for kafka.request.deadline, five minutes.
    const nobody = new TestPipeline({ bootstrap: '127.0.0.1:1', topics: data.topics });
    const once = signalOnce();
    try {
      const run = await nobody.cli({
        onLog: (text, child) => {
          if (text.includes('will try again')) once(child);
        },
      });
      expect(run.code, run.stderr).toBe(0);
      expect(run.stderr).toContain('stopped as asked, before any broker answered');
      expect(run.stderr).not.toContain('shutdown.timeout');
      expect(JSON.parse(run.stdout)).toMatchObject({ stopped: 'asked', batches: 0 });
    } finally {
      nobody.remove();
    }
  });

  it('while the next batch waits for brokers that are gone ends the run at once with 0', async () => {
    const proxy = await TcpProxy.listen();
    const broker = await startBroker({ advertisedPort: proxy.port });
    proxy.target = { host: broker.host, port: broker.port };
    const own = await twoTopics(proxy.address, 'signal-gone', 36);
    const gone = new TestPipeline({ bootstrap: proxy.address, topics: own.topics });
    const once = signalOnce();
    try {
      const run = await gone.cli({
        args: [
          'run',
          '-c',
          join(gone.directory, 'sluice.yaml'),
          '--set',
          'trigger.processingTime=1 ms',
          '-o',
          'json',
        ],
        onLog: (text, child) => {
          if (text.includes('batch 0:')) {
            proxy.target = null;
            proxy.resetAll();
          }
          if (text.includes('will try again')) once(child);
        },
      });
      expect(run.code, run.stderr).toBe(0);
      expect(run.stderr).not.toContain('shutdown.timeout');
      expect(run.stderr).toContain('looks for records every 1 ms, until SIGTERM');
      expect(JSON.parse(run.stdout)).toMatchObject({ stopped: 'asked', batches: 1 });
      proxy.target = { host: broker.host, port: broker.port };
      expect((await gone.cli()).code).toBe(0);
      await checkExactlyOnce({ pipeline: gone, produced: own.produced });
    } finally {
      gone.remove();
      await own.produced.close();
      await proxy.close();
      await broker.stop();
    }
  });

  it('that npm gets ends the run, and leaves no process behind', async () => {
    const nobody = new TestPipeline({ bootstrap: '127.0.0.1:1', topics: data.topics });
    try {
      const file = join(nobody.directory, 'sluice.yaml');
      writeFileSync(file, nobody.yaml());
      const npm = spawn('npm', ['run', '-s', 'sluice', '--', 'run', '-c', file], {
        cwd: fileURLToPath(new URL('../..', import.meta.url)),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const once = signalOnce();
      let log = '';
      npm.stderr.on('data', (piece: Buffer) => {
        log += piece.toString();
        if (log.includes('will try again')) once(npm);
      });
      // Closed only when the last process that holds it is gone.
      await new Promise((resolve) => npm.on('close', resolve));
      expect(log).toContain('stopped as asked, before any broker answered');
    } finally {
      nobody.remove();
    }
  });

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
