/** Random histories of a pipeline, run into a checkpoint and its tables in memory, and random damage to them. */
import { kindOf, TABLES, type Taken, type Truth } from './verify-model.ts';
import {
  commitWorldBatch,
  doneOfWorld,
  funnelOfKinds,
  type OffsetKind,
  PLAIN_SCHEMA,
  planWorldBatch,
  positionsOf,
  preparedOfWorld,
  SCHEMA_WITH_ID,
  type VerifyWorld,
  type WorldBatch,
  type WorldRow,
} from './verify-world.ts';

export const KEYS = ['t/0', 't/1', 'u/0'];
const NAMES = TABLES.flatMap((table) => [table, `${table}__quarantine`]);
const KINDS: OffsetKind[] = [
  'row',
  'row',
  'row',
  'row',
  'quarantined',
  'dropped',
  'control',
  'aborted',
  'hole',
];
export const STAGES = ['planned', 'prepared', 'quarantine', 'landed', 'done', 'committed'] as const;
type Stage = (typeof STAGES)[number];

export interface HistoryOptions {
  seed: number;
  batches: number;
  /** How far the last batch came. */
  lastStage: Stage;
  withIds: boolean;
  /** Faults of the engine: ranges passed over, ranges read twice. */
  faults: boolean;
  purge: boolean;
}

/** Numbers from a seed; the same in every run. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number in [0, n). */
  below(n: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * n);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}

/** Runs a random history into a checkpoint and notes what it did. */
export class History {
  readonly truth: Truth;
  /** Commits that a batch in flight has made: table -> commit id. */
  readonly landed = new Map<string, string>();
  private readonly world: VerifyWorld;
  private readonly dice: Dice;
  private readonly options: HistoryOptions;
  private readonly positions: Record<string, number> = {};
  private readonly ids: Record<string, string | null>;
  private readonly routes: Record<string, string>;
  private readonly newestTable: Record<string, string> = {};

  constructor(world: VerifyWorld, options: HistoryOptions) {
    this.world = world;
    this.options = options;
    this.dice = new Dice(options.seed);
    for (const key of KEYS.slice(0, 1 + this.dice.below(3))) this.positions[key] = this.dice.below(4);
    this.ids = options.withIds ? { t: 't0', u: 'u0' } : { t: null, u: null };
    this.routes = { t: TABLES[0], u: this.dice.pick(TABLES) };
    this.truth = {
      began: { ...this.positions },
      position: null,
      taken: [],
      open: [],
      kinds: new Map(),
      rows: new Map(),
      planned: [],
    };
  }

  async run(): Promise<void> {
    const { dice, options, world } = this;
    await world.checkpoint.writeInitialOffsets(positionsOf({ positions: this.positions }));
    for (let batchId = 0; batchId < options.batches; batchId++) {
      const stage = batchId === options.batches - 1 ? options.lastStage : 'committed';
      if (batchId > 0 && dice.chance(15)) this.routes[dice.pick(['t', 'u'])] = dice.pick(TABLES);
      const reset = options.withIds && batchId > 0 && stage === 'committed' && dice.chance(15);
      const [batch, mine] = reset ? this.reset(batchId) : this.take(batchId);
      await this.bring(batch, mine, stage);
      if (stage === 'committed' && options.purge && dice.chance(40)) await world.checkpoint.purge(2);
    }
  }

  /** The topic `t` is another one from here on. */
  private reset(batchId: number): [WorldBatch, Taken[]] {
    this.ids.t = `t${batchId}`;
    const mine: Taken[] = [];
    for (const key of KEYS.filter((k) => this.positions[k] !== undefined)) {
      const topic = key[0];
      const topicId = this.ids[topic];
      if (topic === 't') this.positions[key] = this.dice.below(3);
      const from = this.positions[key];
      const last = this.truth.taken.findLast((t) => t.key === key);
      if (last?.until === from && last.topicId === topicId) continue;
      const table = this.newestTable[key] ?? this.newestTable[topic] ?? '';
      mine.push({ key, topicId, table, from, until: from, kind: 'begin', unlisted: [] });
    }
    return [{ ...this.emptyBatch(batchId), reset: true }, mine];
  }

  private take(batchId: number): [WorldBatch, Taken[]] {
    const batch = this.emptyBatch(batchId);
    const mine: Taken[] = [];
    for (const key of KEYS) {
      if (this.positions[key] === undefined && this.dice.chance(30)) this.positions[key] = this.dice.below(4);
      if (this.positions[key] !== undefined && !this.dice.chance(15))
        mine.push(...this.takePartition(key, batch));
    }
    batch.positions = { ...this.positions };
    return [batch, mine];
  }

  private emptyBatch(batchId: number): WorldBatch {
    const { ids, routes, positions } = this;
    return {
      batchId,
      topicIds: { ...ids },
      routes: { ...routes },
      funnel: [],
      lost: [],
      positions: { ...positions },
    };
  }

  /** Perhaps a loss, perhaps a skip or a step back, then a range. */
  private takePartition(key: string, batch: WorldBatch): Taken[] {
    const { dice, truth, options } = this;
    const [topic, partition] = [key[0], Number(key[2])];
    const place = { topic, partition, table: this.routes[topic] };
    const topicId = this.ids[topic];
    const mine: Taken[] = [];
    const note = (kind: Taken['kind'], from: number, until: number, unlisted: readonly number[]): void =>
      void mine.push({ key, topicId, table: place.table, from, until, kind, unlisted });
    let from = this.positions[key];
    if (dice.chance(10)) {
      const until = from + 1 + dice.below(3);
      batch.lost.push({ topic, partition, from, until, topicId });
      note('lost', from, until, []);
      from = until;
    }
    if (options.faults && dice.chance(8)) from = Math.max(0, from + dice.pick([1, 2, -1, -2, -3]));
    const size = dice.chance(15) ? 0 : 1 + dice.below(8);
    const kinds: OffsetKind[] = [];
    for (let offset = from; offset < from + size; offset++) {
      // A log says the same whenever it is read.
      const kind = kindOf(truth, { key, topicId }, offset) ?? dice.pick(KINDS);
      truth.kinds.set(`${key}|${topicId}|${offset}`, kind);
      kinds.push(kind);
    }
    const funnel = funnelOfKinds(place, from, kinds, dice.chance(25) ? dice.below(2) : undefined);
    const isListed = (offset: number): boolean =>
      funnel.gaps.some((gap) => BigInt(offset) >= gap.from && BigInt(offset) < gap.until);
    const gaps = kinds.flatMap((kind, i) => (kind === 'row' || kind === 'quarantined' ? [] : [from + i]));
    batch.funnel.push(funnel);
    note(
      'read',
      from,
      from + size,
      gaps.filter((offset) => !isListed(offset)),
    );
    // A position beyond what was read; in the newest batch it would mean that another engine has planned it.
    const isNewest = batch.batchId === options.batches - 1;
    this.positions[key] = from + size + (options.faults && !isNewest && dice.chance(4) ? 1 : 0);
    this.newestTable[key] = place.table;
    this.newestTable[topic] = place.table;
    return mine;
  }

  /** Brings a batch into the checkpoint, and its rows into the tables, as far as the stage says. */
  private async bring(batch: WorldBatch, mine: Taken[], stage: Stage): Promise<void> {
    const { truth } = this;
    const { checkpoint } = this.world;
    const rows = this.rowsOf(mine);
    const isFinished = stage === 'done' || stage === 'committed';
    const commits = Object.fromEntries([...rows.keys()].map((name) => [name, `${name} ${batch.batchId}`]));
    for (const [name, some] of rows) {
      const isThere =
        isFinished || stage === 'landed' || (stage === 'quarantine' && name.endsWith('__quarantine'));
      if (!isThere) continue;
      if (!isFinished) this.landed.set(name, commits[name]);
      const tagged = isFinished ? some : some.map((row) => ({ ...row, commitId: commits[name] }));
      truth.rows.set(name, [...(truth.rows.get(name) ?? []), ...tagged]);
    }
    truth.planned = Object.values(batch.routes);
    if (stage === 'committed') await commitWorldBatch(checkpoint, batch);
    else await planWorldBatch(checkpoint, batch);
    if (stage !== 'committed' && stage !== 'planned')
      await checkpoint.writePrepared(preparedOfWorld(batch, commits));
    if (stage === 'done') await checkpoint.writeDone(doneOfWorld(batch));
    if (isFinished) {
      truth.taken.push(...mine);
      truth.position = { ...batch.positions };
    } else
      for (const table of TABLES)
        this.noteOpen(
          mine.filter((t) => t.table === table),
          table,
          commits,
        );
  }

  /** A batch in flight counts as read in a table where all its commits are. */
  private noteOpen(mine: Taken[], table: string, commits: Record<string, string>): void {
    const names = [table, `${table}__quarantine`].filter((name) => commits[name] !== undefined);
    const isWhole = names.length > 0 && names.every((name) => this.landed.has(name));
    if (isWhole) this.truth.taken.push(...mine.map((t) => ({ ...t, onlyFor: table })));
    else this.truth.open.push(...mine.filter((t) => t.kind === 'read'));
  }

  private rowsOf(mine: readonly Taken[]): Map<string, WorldRow[]> {
    const rows = new Map<string, WorldRow[]>();
    for (const t of mine.filter((m) => m.kind === 'read')) {
      for (let offset = t.from; offset < t.until; offset++) {
        const kind = kindOf(this.truth, t, offset);
        if (kind !== 'row' && kind !== 'quarantined') continue;
        const name = kind === 'row' ? t.table : `${t.table}__quarantine`;
        const row = { topic: t.key[0], partition: Number(t.key[2]), offset, topicId: t.topicId };
        rows.set(name, [...(rows.get(name) ?? []), row]);
      }
    }
    return rows;
  }
}

/** Loses, doubles, moves and invents rows. */
export function damage({ rows }: Truth, dice: Dice): void {
  for (let n = 1 + dice.below(3); n > 0; n--) {
    const kind = dice.pick(['lose', 'double', 'move', 'invent']);
    const filled = [...rows.keys()].filter((name) => rows.get(name)!.length > 0);
    if (kind === 'invent' || filled.length === 0) {
      const name = dice.pick(NAMES);
      const row = { topic: dice.pick(['t', 'u', 'v']), partition: dice.below(2), offset: dice.below(40) };
      rows.set(name, [...(rows.get(name) ?? []), { ...row, topicId: dice.pick(['t0', 'u0', null]) }]);
      continue;
    }
    const name = dice.pick(filled);
    const list = rows.get(name)!;
    const at = dice.below(list.length);
    const row = list[at];
    if (kind === 'double') list.push({ ...row });
    else list.splice(at, 1);
    const other = name.endsWith('__quarantine') ? name.replace('__quarantine', '') : `${name}__quarantine`;
    if (kind === 'move') rows.set(other, [...(rows.get(other) ?? []), { ...row, commitId: undefined }]);
  }
}

/** Writes what the truth says that the tables hold. */
export async function fillTables(
  world: VerifyWorld,
  { truth, landed }: History,
  hasIds: boolean,
  dice: Dice,
  oldPercent: number,
): Promise<void> {
  for (const name of NAMES) {
    const withIds = hasIds && !name.endsWith('__quarantine');
    await world.createTable(name, withIds ? SCHEMA_WITH_ID : PLAIN_SCHEMA);
    const rows = truth.rows.get(name) ?? [];
    const base = rows.filter((row) => row.commitId === undefined);
    // A part of the files is older than the column.
    const old = withIds ? base.filter(() => dice.chance(oldPercent)) : [];
    for (const row of old) row.topicId = null;
    if (old.length > 0) await world.append(name, old, undefined, false);
    await world.append(
      name,
      base.filter((row) => !old.includes(row)),
    );
    const commitId = landed.get(name);
    if (commitId !== undefined)
      await world.append(
        name,
        rows.filter((row) => row.commitId === commitId),
        commitId,
      );
  }
}
