/** What one finds by going over all offsets of a random history one by one: `verify` must say the same. */
import type { OffsetKind, WorldRow } from './verify-world.ts';

export const TABLES = ['b.a', 'b.b'];

/** A stretch of offsets of one partition as a batch took it. */
export interface Taken {
  /** `topic/partition`. */
  key: string;
  topicId: string | null;
  table: string;
  from: number;
  until: number;
  kind: 'read' | 'lost' | 'begin';
  /** Offsets without a row that the record of the batch does not list. */
  unlisted: readonly number[];
  /** Only this table knows of it: the batch is in flight, and its commits have landed there. */
  onlyFor?: string;
}

/** What there is to know, without any merging. */
export interface Truth {
  began: Record<string, number>;
  /** After the last finished batch. */
  position: Record<string, number> | null;
  /** In the order of time. */
  taken: Taken[];
  /** What a batch in flight reads. */
  open: Taken[];
  /** By `key|topicId|offset`. */
  kinds: Map<string, OffsetKind>;
  /** By the name of the table. */
  rows: Map<string, (WorldRow & { commitId?: string })[]>;
  /** Tables of the newest plan. */
  planned: string[];
}

export interface Verdict {
  key: string;
  lost: number;
  duplicated: number;
  unexpected: number;
  misplaced: number;
  rows: number;
  quarantined: number;
  missing: number[];
  doubled: number[];
  unknown: number[];
  /** A batch in flight keeps it from being told. */
  undecided: boolean;
}

/** Beyond every offset of a history. */
const FURTHEST = 200;

export function kindOf(
  truth: Truth,
  t: Pick<Taken, 'key' | 'topicId'>,
  offset: number,
): OffsetKind | undefined {
  return truth.kinds.get(`${t.key}|${t.topicId}|${offset}`);
}

export const isFed = (truth: Truth, table: string): boolean =>
  truth.planned.includes(table) || truth.taken.some((t) => t.table === table);

const covers = (t: Taken, offset: number): boolean => offset >= t.from && offset < t.until;
const isEmpty = (t: Taken): boolean => t.from === t.until;

const overlap = (a: Taken, b: Taken): boolean =>
  !isEmpty(a) && !isEmpty(b) && a.from < b.until && b.from < a.until;

interface Incarnation {
  id: string | null;
  mine: Taken[];
  open: Taken[];
  holes: Set<number>;
  overlaps: boolean;
  cut: boolean;
}

/** Undefined where the checkpoint has nothing to say of the partition in the table. */
export function judge(truth: Truth, key: string, table: string, hasIds: boolean): Verdict | undefined {
  const incarnations = incarnationsOf(truth, key, table);
  if (incarnations.every((i) => i.mine.length === 0 && i.open.length === 0 && i.holes.size === 0))
    return undefined;
  const [topic, partition] = key.split('/');
  const find = (name: string): WorldRow[] =>
    (truth.rows.get(name) ?? []).filter((r) => r.topic === topic && r.partition === Number(partition));
  const data = find(table);
  const quarantine = find(`${table}__quarantine`);
  const verdict: Verdict = {
    key,
    lost: 0,
    duplicated: 0,
    unexpected: 0,
    misplaced: 0,
    rows: data.length,
    quarantined: quarantine.length,
    missing: [],
    doubled: [],
    unknown: [],
    undecided: false,
  };
  let ambiguous = 0;
  let early = 0;
  const absent: number[] = [];
  for (let offset = 0; offset <= FURTHEST; offset++) {
    // The quarantine does not tell the incarnation, and a table without the column does not either.
    const tells = (r: WorldRow): boolean => hasIds && r.topicId != null;
    const named = data.filter((r) => r.offset === offset && tells(r)).map((r) => r.topicId);
    const unnamed =
      quarantine.filter((r) => r.offset === offset).length +
      data.filter((r) => r.offset === offset && !tells(r)).length;
    const at = judgeOffset(truth, incarnations, offset, named, unnamed);
    early += at.early;
    const inCut = incarnations.some((i) => i.cut && cutCovers(i, offset));
    const certain = at.bare + (inCut ? 0 : at.missing);
    if (inCut && at.ambiguous) ambiguous++;
    if (inCut) absent.push(...Array(at.missing).fill(offset));
    verdict.lost += certain;
    verdict.duplicated += at.doubled;
    verdict.unexpected += at.unknown;
    if (certain > 0) verdict.missing.push(offset);
    if (at.doubled > 0) verdict.doubled.push(offset);
    if (at.unknown > 0) verdict.unknown.push(offset);
  }
  const fits = settleCuts(verdict, incarnations, absent);
  verdict.undecided = !fits && ambiguous > 0;
  const sound = verdict.lost + verdict.duplicated + verdict.unexpected + early === 0;
  if (sound && !incarnations.some((i) => i.overlaps)) {
    const rows = incarnations.flatMap((i) => i.mine).flatMap((t) => offsetsOf(t, truth, 'row'));
    verdict.misplaced = Math.abs(rows.length - data.length);
  }
  return verdict;
}

/** Deals the rows of one offset to the incarnations: first those that say of which they are. */
function judgeOffset(
  truth: Truth,
  incarnations: readonly Incarnation[],
  offset: number,
  named: readonly (string | null | undefined)[],
  unnamedRows: number,
) {
  const result = { missing: 0, bare: 0, doubled: 0, unknown: 0, early: 0, ambiguous: false };
  let unnamed = unnamedRows;
  let allowance = 0;
  const isExpected = (i: Incarnation): boolean =>
    i.mine.some(
      (t) =>
        t.kind === 'read' &&
        covers(t, offset) &&
        (['row', 'quarantined'].includes(kindOf(truth, t, offset)!) || t.unlisted.includes(offset)),
    );
  for (const i of incarnations) {
    const want = isExpected(i) ? 1 : 0;
    const have = named.filter((id) => id === i.id).length;
    const allowed = want === 0 && i.open.some((t) => covers(t, offset)) ? 1 : 0;
    result.missing += Math.max(0, want - have);
    result.early += Math.min(allowed, have);
    allowance += allowed - Math.min(allowed, have);
    const tooMany = Math.max(0, have - want - allowed);
    if (want + allowed > 0) result.doubled += tooMany;
    else result.unknown += tooMany;
    if (i.holes.has(offset) && have === 0) result.bare++;
  }
  result.unknown += named.filter((id) => !incarnations.some((i) => i.id === id)).length;
  const filled = Math.min(unnamed, result.missing);
  result.ambiguous = filled > 0 && allowance > 0;
  result.missing -= filled;
  unnamed -= filled;
  const early = Math.min(unnamed, allowance);
  result.early += early;
  unnamed -= early;
  if (incarnations.some((i) => isExpected(i) || i.open.some((t) => covers(t, offset)))) {
    result.doubled += unnamed;
  } else {
    result.unknown += unnamed;
    result.bare = Math.max(0, result.bare - unnamed);
  }
  return result;
}

/** Where gaps are not listed, exactly they must be absent; a difference is told by number. */
function settleCuts(
  verdict: Verdict,
  incarnations: readonly Incarnation[],
  absent: readonly number[],
): boolean {
  const provable = !incarnations.some((i) => i.overlaps && i.cut);
  const unlisted = provable
    ? incarnations.filter((i) => i.cut).flatMap((i) => i.mine.flatMap((t) => t.unlisted))
    : [];
  const inOrder = (list: readonly number[]): string => [...list].sort((a, b) => a - b).join();
  if (inOrder(absent) === inOrder(unlisted)) return true;
  const more = absent.length - unlisted.length;
  verdict.lost += more === 0 ? 1 : Math.max(0, more);
  verdict.unexpected += more === 0 ? 1 : Math.max(0, -more);
  return false;
}

function incarnationsOf(truth: Truth, key: string, table: string): Incarnation[] {
  const all = truth.taken.filter((t) => t.key === key && (t.onlyFor ?? table) === table);
  const open = truth.open.filter((t) => t.key === key && t.table === table && !isEmpty(t));
  const ids = [...new Set([...all, ...open].map((t) => t.topicId))];
  if (ids.length === 0) ids.push(null);
  const newest = all.at(-1)?.topicId;
  return ids.map((id, n) => {
    const whole = all.filter((t) => t.topicId === id);
    const mine = whole.filter((t) => t.table === table);
    const isFirst = n === 0;
    return {
      id,
      mine,
      open: open.filter((t) => t.topicId === id),
      holes: holesOf(truth, key, table, whole, isFirst, all.length === 0 ? isFirst : id === newest),
      overlaps: mine.some((a) => mine.some((b) => a !== b && overlap(a, b))),
      cut: mine.some((t) => t.unlisted.length > 0),
    };
  });
}

/** Is the offset in ranges that follow on each other, of which one does not list all its gaps? */
function cutCovers({ mine }: Incarnation, offset: number): boolean {
  const chains: { from: number; until: number; cut: boolean }[] = [];
  for (const t of mine) {
    const last = chains.at(-1);
    const cut = t.unlisted.length > 0;
    if (last !== undefined && last.until === t.from) {
      last.until = t.until;
      last.cut ||= cut;
    } else chains.push({ from: t.from, until: t.until, cut });
  }
  return chains.some((c) => c.cut && offset >= c.from && offset < c.until);
}

/** Offsets that nobody took, between the first and the last of an incarnation, where they border on the table. */
function holesOf(
  truth: Truth,
  key: string,
  table: string,
  whole: readonly Taken[],
  isFirst: boolean,
  isNewest: boolean,
): Set<number> {
  const ends = whole.flatMap((t) => [t.from, t.until]);
  const began = truth.began[key];
  const position = truth.position?.[key];
  if (whole.length === 0 && (began === undefined || position === undefined)) return new Set();
  if (isFirst && began !== undefined && whole[0]?.kind !== 'begin') ends.push(began);
  if (isNewest && position !== undefined) ends.push(position);
  if (whole.length === 0 && !(isFirst && isNewest && position! > began)) return new Set();
  const isTaken = (offset: number): boolean => whole.some((t) => covers(t, offset));
  const holes = new Set<number>();
  const last = Math.max(...ends);
  for (let from = Math.min(...ends); from < last; from++) {
    if (isTaken(from)) continue;
    let until = from;
    while (until < last && !isTaken(until)) until++;
    const beside = whole.filter((t) => t.until === from || t.from === until).map((t) => t.table);
    const tables = beside.filter((t) => t !== '');
    if (tables.length === 0 || tables.includes(table))
      for (let offset = from; offset < until; offset++) holes.add(offset);
    from = until;
  }
  return holes;
}

function offsetsOf(t: Taken, truth: Truth, kind: OffsetKind): number[] {
  if (t.kind !== 'read') return [];
  const offsets = Array.from({ length: t.until - t.from }, (_, i) => t.from + i);
  return offsets.filter((offset) => kindOf(truth, t, offset) === kind);
}
