/** A process that stood still (SIGSTOP) for longer than its lease held, while another one took its work over. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { standsStill } from '../support/process-state.ts';
import { type CliRun, TestPipeline } from '../support/test-pipeline.ts';

describe('a process that stands still and wakes', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'still', 36);
  });
  afterAll(() => data.produced.close());

  it.each([
    'after-plan@2',
    'after-offsets@2',
    'read',
    'after-prepared@2',
    'after-catalog-commit@6',
    'after-done@2',
  ])(
    'at %s: the other is refused while the lease holds, takes over without it, and the first one stops',
    async (point) => {
      const pipeline = new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: 48 });
      let pid = 0;
      let first: Promise<CliRun> | undefined;
      try {
        first = pipeline.cli({
          failpoints: `${point}=stop`,
          onStart: (child) => {
            pid = child.pid!;
          },
        });
        await standsStill(pid);
        const content = () =>
          new Map(pipeline.files(pipeline.directory).map((f) => [f, readFileSync(f, 'base64')]));
        const before = content();
        const refused = await pipeline.cli();
        expect(refused.code).toBe(75);
        expect(refused.stderr).toContain('CHECKPOINT_CONCURRENT');
        expect(refused.stderr).toContain(
          `the checkpoint ${pipeline.checkpoint} is in use by process ${pid} on`,
        );
        expect(content()).toEqual(before);

        rmSync(join(pipeline.checkpoint, '_sluice', 'lease'));
        const second = await pipeline.cli();
        expect(second.code, second.stderr).toBe(0);
        process.kill(pid, 'SIGCONT');
        const woken = await first;
        expect(woken.code, woken.stderr).toBe(75);
        expect(woken.stderr).toMatch(/CHECKPOINT_CONCURRENT|STALE_WRITER/);
        await checkExactlyOnce({ pipeline, produced: data.produced });
      } finally {
        if (pid > 0) {
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It has ended.
          }
        }
        await first;
      }
      pipeline.remove();
    },
  );
});
