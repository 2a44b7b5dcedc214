/** Random histories of a pipeline, random damage to its tables and to what it read: `verify` against the model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fedTables } from '../../../src/proof/fed-tables.ts';
import type { Interval } from '../../../src/proof/offset-runs.ts';
import type { PartitionProof, VerifyReport } from '../../../src/proof/verify-table.ts';
import { Dice, damage, fillTables, History, KEYS, STAGES } from '../../support/verify-history.ts';
import { isFed, judge, TABLES, type Truth, type Verdict } from '../../support/verify-model.ts';
import { VerifyWorld, WORLD_LOCATION } from '../../support/verify-world.ts';

const offsetsIn = (list: readonly Interval[]): number[] =>
  list.flatMap(({ from, until }) => Array.from({ length: Number(until - from) }, (_, i) => Number(from) + i));

function verdictOf(p: PartitionProof): Verdict {
  return {
    key: `${p.topic}/${p.partition}`,
    lost: Number(p.lost),
    duplicated: Number(p.duplicated),
    unexpected: Number(p.unexpected),
    misplaced: Number(p.misplaced),
    rows: p.rows,
    quarantined: p.quarantined,
    missing: offsetsIn(p.missing),
    doubled: offsetsIn(p.doubled),
    unknown: offsetsIn(p.unknown),
    undecided: false,
  };
}

function expectAgreement(report: VerifyReport, truth: Truth, expected: readonly Verdict[]): void {
  expect(report.partitions.map(verdictOf), report.table).toEqual(expected);
  const ok = expected.every((v) => v.lost + v.duplicated + v.unexpected + v.misplaced === 0);
  expect(report.ok).toBe(ok);
  const all = [report.table, report.quarantineTable].flatMap((name) => truth.rows.get(name) ?? []);
  expect(report.otherRows).toBe(all.length - report.rows - report.quarantined);
}

const options = fc.record({
  seed: fc.nat(2 ** 31),
  batches: fc.integer({ min: 1, max: 7 }),
  lastStage: fc.constantFrom(...STAGES),
  withIds: fc.boolean(),
  faults: fc.boolean(),
  purge: fc.boolean(),
});

function refused(error: { code?: string }): false {
  expect(['CHECKPOINT_CORRUPT', 'NOT_VERIFIABLE']).toContain(error.code);
  return false;
}

async function inWorld(body: (world: VerifyWorld) => Promise<void>): Promise<void> {
  const world = await VerifyWorld.open();
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

describe('verify', () => {
  it('says what one finds by going over the offsets one by one', async () => {
    const seen = { ok: 0, different: 0 };
    await fc.assert(
      fc.asyncProperty(options, fc.boolean(), fc.boolean(), (o, isDamaged, hasIds) =>
        inWorld(async (world) => {
          const history = new History(world, o);
          await history.run();
          const dice = new Dice(o.seed + 1);
          if (isDamaged) damage(history.truth, dice);
          await fillTables(world, history, hasIds, dice, 20);
          for (const table of TABLES) {
            if (!isFed(history.truth, table)) {
              await expect(world.verify(table)).rejects.toMatchObject({ code: 'NOT_VERIFIABLE' });
              continue;
            }
            const expected = KEYS.flatMap((key) => judge(history.truth, key, table, hasIds) ?? []);
            if (expected.some((verdict) => verdict.undecided)) {
              await expect(world.verify(table)).rejects.toMatchObject({ code: 'NOT_VERIFIABLE' });
              continue;
            }
            const report = await world.verify(table);
            expectAgreement(report, history.truth, expected);
            // What nobody has damaged is right, however the histories went.
            if (!isDamaged && !o.faults) expect(report.ok).toBe(true);
            seen[report.ok ? 'ok' : 'different']++;
          }
        }),
      ),
      { numRuns: 200 },
    );
    expect(seen.ok).toBeGreaterThan(20);
    expect(seen.different).toBeGreaterThan(20);
  });

  it('is never satisfied with a record of the checkpoint that was changed', async () => {
    const counts = [
      'rows',
      'quarantined',
      'dropped',
      'control',
      'aborted',
      'holes',
      'gapSum',
      'from',
      'until',
    ];
    await fc.assert(
      fc.asyncProperty(
        options,
        fc.constantFrom(...counts, 'gaps', 'table', 'topicId'),
        fc.constantFrom(1, -1),
        (o, field, change) =>
          inWorld(async (world) => {
            const withIds = o.withIds || field === 'topicId';
            const history = new History(world, { ...o, withIds, faults: false, lastStage: 'committed' });
            await history.run();
            await fillTables(world, history, true, new Dice(1), 0);
            const name = await changeRecord(world, new Dice(o.seed), field, change);
            fc.pre(name !== undefined);
            const tables = await fedTables(await world.checkpoint.look()).catch(refused);
            const answers = await Promise.all(
              (tables || []).map((table) => world.verify(table).then((report) => report.ok, refused)),
            );
            if (tables === false) answers.push(false);
            expect(answers, `${name}: ${field}`).toContain(false);
          }),
      ),
      { numRuns: 100 },
    );
  });
});

/** Changes a field of a range that has rows, in a done record or in the ledger; undefined where there is none. */
async function changeRecord(
  world: VerifyWorld,
  dice: Dice,
  field: string,
  change: number,
): Promise<string | undefined> {
  const candidates: {
    path: string;
    file: { record: Record<string, unknown> };
    item: Record<string, unknown>;
  }[] = [];
  for await (const { path } of world.io.list(WORLD_LOCATION)) {
    if (!/_sluice\/(done|ledger)\//.test(path)) continue;
    const file = JSON.parse(Buffer.from(await world.io.read(path)).toString());
    const items = (file.record.funnel ?? file.record.entries) as {
      rows: number;
      gaps: string;
      gapsCut: boolean;
    }[];
    for (const item of items) {
      const fits = field === 'gaps' ? item.gaps !== '' && !item.gapsCut : item.rows > 0;
      if (fits && (field !== 'topicId' || 'topicId' in item))
        candidates.push({ path, file, item: item as never });
    }
  }
  if (candidates.length === 0) return undefined;
  const { path, file, item } = dice.pick(candidates);
  if (field === 'table') item.table = TABLES.find((t) => t !== item.table);
  else if (field === 'topicId') item.topicId = 'another';
  else if (field === 'gaps') item.gaps = `${item.gaps}AB`;
  else item[field] = Math.max(0, (item[field] as number) + change);
  if (change < 0 && item[field] === 0 && (await sameText(world, path, file))) item[field] = 1;
  await world.io.replace(path, Buffer.from(`${JSON.stringify(file)}\n`));
  return path;
}

async function sameText(world: VerifyWorld, path: string, file: object): Promise<boolean> {
  return (
    Buffer.from(await world.io.read(path))
      .toString()
      .trim() === JSON.stringify(file)
  );
}
