/** The quarantine at the command line: list, show, requeue; killed at every named point; two operators at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REQUEUE_FAILPOINTS } from '../../src/engine/failpoint.ts';
import { createTopic, fillOdd } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import { checkRequeued, keepState } from '../support/requeue.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

/** Set aside at first: longer than the limit, and text. */
const BACK = 12;

describe('sluice quarantine', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;
  let topic: string;
  let table: string;
  let kept: ReturnType<typeof keepState>;

  beforeAll(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'quarantine', 2);
    await fillOdd(produced, topic, 2, 60);
    pipeline = new TestPipeline({ bootstrap, topics: [topic], table: { maxRecordBytes: 100 } });
    table = pipeline.tableOf(topic);
    await pipeline.run();
    delete pipeline.options.table!.maxRecordBytes;
    kept = keepState(pipeline);
  });
  afterAll(async () => {
    await produced.close();
    pipeline.remove();
    kept.remove();
  });

  const sluice = (args: readonly string[], failpoints?: string) =>
    pipeline.cli({ args: ['quarantine', ...args, '-c', 'sluice.yaml'], failpoints });
  const json = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await sluice([...args, '-o', 'json']);
    expect(code, stderr).toBe(0);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  it('lists what was set aside, by reason', async () => {
    kept.restore();
    const [{ quarantines }] = await json(['list']);
    expect(quarantines).toMatchObject([
      {
        quarantine: `${table}__quarantine`,
        records: 30,
        requeued: 0,
        groups: [
          { reason: 'INVALID_UTF8', field: 'value', records: 18, requeued: 0 },
          { reason: 'TOO_LARGE', field: 'value', records: BACK, requeued: 0 },
        ],
        moreGroups: 0,
      },
    ]);
    const [{ quarantines: one }] = await json(['list', table, '--reason', 'TOO_LARGE']);
    expect(one[0]).toMatchObject({ records: BACK, groups: [{ reason: 'TOO_LARGE' }] });
    const [{ quarantines: none }] = await json(['list', '--until', '2020-01-01T00:00:00Z']);
    expect(none[0]).toMatchObject({ records: 0, groups: [] });
    const { stdout } = await sluice(['list', '--limit', '1']);
    expect(stdout).toMatch(/30 records, 0 of them requeued\n.*\nINVALID_UTF8 +value +18 .*\nand 1 more/);
  });

  it('shows a record with its exact bytes', async () => {
    kept.restore();
    const record = produced.records.get(`${topic}-0`)!.get(3n)!;
    const [shown] = await json(['show', `${topic}/0/3`]);
    expect(shown).toMatchObject({ topic, partition: 0, offset: 3, reason: 'INVALID_UTF8', whole: true });
    expect(Buffer.from(shown.value, 'base64').equals(record.value!)).toBe(true);
    expect(shown.headers.map((h: { key: string }) => h.key)).toEqual(['trace', 'trace', '']);
    const text = await sluice(['show', `${topic}/0/3`]);
    expect(text.stdout).toContain('00000000  ');
    const { stdout, stderr } = await sluice(['show', '--reason', 'TOO_LARGE', '--limit', '2']);
    expect(stdout.match(/ TOO_LARGE /g)).toHaveLength(2);
    expect(stderr).toContain('2 are shown and there are more; --limit shows them');
    const all = await sluice(['show', '--reason', 'TOO_LARGE', '--limit', String(BACK)]);
    expect(all.stdout.match(/ TOO_LARGE /g)).toHaveLength(BACK);
    expect(all.stderr).not.toContain('there are more');
    expect((await sluice(['show', `${topic}/0/4000`])).stderr).toContain(
      'no such record is in the quarantine',
    );
    expect((await sluice(['show', `${topic}/0/0-1000`, '--raw'])).code).toBe(64);
    expect((await sluice(['show', `${topic}/0/4000`, '--raw'])).code).toBe(64);
    expect((await sluice(['show', 'no place'])).code).toBe(64);
  });

  it('previews, then does it; then there is nothing left to do, and verify agrees', async () => {
    kept.restore();
    const preview = await sluice(['requeue']);
    expect(preview.stdout).toContain(`${BACK} would become rows of ${table}`);
    expect(preview.stdout).toContain('nothing was written; --execute does it');
    expect((await checkRequeued(pipeline, table, produced)).requeued.size).toBe(0);
    const done = await sluice(['requeue', table, '--execute']);
    expect(done.stdout).toContain(`${BACK} went back into ${table}`);
    expect((await checkRequeued(pipeline, table, produced)).requeued.size).toBe(BACK);
    const [again] = await json(['requeue', '--execute']);
    expect(again.quarantines).toMatchObject([{ records: 30, already: BACK, rows: {}, requeues: [] }]);
    const [{ quarantines }] = await json(['list']);
    expect(quarantines[0]).toMatchObject({ records: 30, requeued: BACK });
    const verify = await pipeline.cli({ args: ['verify', '-c', 'sluice.yaml'] });
    expect(verify.code, verify.stderr).toBe(0);
    expect(verify.stdout).toContain('(12 of them requeued), 18 quarantined, 0 lost');
    const status = await pipeline.cli({ args: ['table', 'list', '-c', 'sluice.yaml'] });
    expect(status.stdout).toContain(`${table}__requeued`);
  });

  it.each([
    ...REQUEUE_FAILPOINTS.map((point) => [point, 1] as const),
    ['before-catalog-commit', 1] as const,
    ['after-catalog-commit', 1] as const,
    ['before-catalog-commit', 2] as const,
    ['after-catalog-commit', 2] as const,
  ])('killed at %s, passing %i: the next one finishes it', async (point, passing) => {
    kept.restore();
    const killed = await sluice(['requeue', '--execute'], `${point}@${passing}=kill`);
    expect(killed.signal, killed.stderr).toBe('SIGKILL');
    await checkRequeued(pipeline, table, produced);
    const last = await sluice(['requeue', '--execute']);
    expect(last.code, last.stderr).toBe(0);
    const { requeued, intents } = await checkRequeued(pipeline, table, produced);
    expect([requeued.size, intents]).toEqual([BACK, []]);
  });

  it('two operators at once, and the pipeline beside them', async () => {
    for (let round = 0; round < 2; round++) {
      kept.restore();
      await fillOdd(produced, topic, 2, 5);
      const [one, two, run] = await Promise.all([
        sluice(['requeue', '--execute']),
        sluice(['requeue', '--execute']),
        pipeline.cli(),
      ]);
      for (const end of [one, two]) expect([0, 75], end.stderr).toContain(end.code);
      expect(run.code, run.stderr).toBe(0);
      expect((await sluice(['requeue', '--execute'])).code).toBe(0);
      const { requeued, intents } = await checkRequeued(pipeline, table, produced);
      expect([requeued.size, intents]).toEqual([BACK, []]);
    }
  });
});
