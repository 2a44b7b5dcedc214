import type { CheckpointFiles } from './checkpoint-files.ts';

/** The directories that hold one file per batch. */
export const BATCH_KINDS = ['offsets', 'commits', 'plan', 'prepared', 'done'] as const;
export type BatchKind = (typeof BATCH_KINDS)[number];

const BATCH_ID = /^(?:0|[1-9]\d{0,15})$/;
/** `plan/7.json`, and `plan/7.<writer id>.json` where two processes planned at once. */
const PLAN_NAME = /^_sluice\/plan\/(0|[1-9]\d{0,15})(?:\.[A-Za-z0-9_-]{1,100})?\.json$/;

/** The batch of a plan's file, named as in the checkpoint; null where the name is none of a plan. */
export function planBatchId(name: string): number | null {
  const match = PLAN_NAME.exec(name);
  return match === null ? null : Number(match[1]);
}

/** `offsets/7`, `_sluice/plan/7.json`. */
export function batchFileName(kind: BatchKind, batchId: number): string {
  return kind === 'offsets' || kind === 'commits' ? `${kind}/${batchId}` : `_sluice/${kind}/${batchId}.json`;
}

/** Which batches have which files, as listed once and kept since. */
export class BatchIndex {
  readonly #ids: Record<BatchKind, Set<number>> = {
    offsets: new Set(),
    commits: new Set(),
    plan: new Set(),
    prepared: new Set(),
    done: new Set(),
  };
  /** Names of the plans of a batch, relative to the checkpoint. */
  readonly #plans = new Map<number, Set<string>>();
  /** Names of Hadoop's checksum files, relative to the checkpoint. */
  readonly #checksums = new Set<string>();
  /** The highest batch that `ledger/` covers, by its file names. */
  ledgerThrough: number | null = null;
  ledgerFiles: number[] = [];
  /** Files of any kind that only a running query leaves. */
  anyLog = false;

  static async load(files: CheckpointFiles): Promise<BatchIndex> {
    const index = new BatchIndex();
    for (const directory of ['offsets', 'commits', 'sources', 'state', '_sluice']) {
      for (const name of await files.list(directory)) index.#take(directory, name);
    }
    index.ledgerFiles.sort((a, b) => a - b);
    index.ledgerThrough = index.ledgerFiles.at(-1) ?? null;
    return index;
  }

  has(kind: BatchKind, batchId: number): boolean {
    return this.#ids[kind].has(batchId);
  }

  add(kind: BatchKind, batchId: number): void {
    this.#ids[kind].add(batchId);
  }

  remove(kind: BatchKind, batchId: number): void {
    this.#ids[kind].delete(batchId);
    if (kind === 'plan') this.#plans.delete(batchId);
  }

  /** The names of the files of a batch. */
  namesOf(kind: BatchKind, batchId: number): string[] {
    if (kind === 'plan') return [...(this.#plans.get(batchId) ?? [])];
    return this.has(kind, batchId) ? [batchFileName(kind, batchId)] : [];
  }

  addPlan(batchId: number, name: string): void {
    this.#ids.plan.add(batchId);
    const names = this.#plans.get(batchId);
    if (names === undefined) this.#plans.set(batchId, new Set([name]));
    else names.add(name);
  }

  removePlan(batchId: number, name: string): void {
    const names = this.#plans.get(batchId);
    names?.delete(name);
    if (names?.size === 0) this.remove('plan', batchId);
  }

  latest(kind: BatchKind): number | null {
    let latest: number | null = null;
    for (const id of this.#ids[kind]) if (latest === null || id > latest) latest = id;
    return latest;
  }

  /** Ascending. */
  ids(kind: BatchKind): number[] {
    return [...this.#ids[kind]].sort((a, b) => a - b);
  }

  /** The checksum file that stands beside a batch file, if there is one. */
  checksumOf(kind: BatchKind, batchId: number): string | undefined {
    const name = `${kind}/.${batchId}.crc`;
    return this.#checksums.has(name) ? name : undefined;
  }

  removeChecksum(name: string): void {
    this.#checksums.delete(name);
  }

  #take(directory: string, name: string): void {
    if (name !== 'lease') this.anyLog = true;
    if (directory === 'offsets' || directory === 'commits') {
      if (BATCH_ID.test(name)) this.#ids[directory].add(Number(name));
      else if (/^\.\d+\.crc$/.test(name)) this.#checksums.add(`${directory}/${name}`);
      return;
    }
    const planned = planBatchId(`${directory}/${name}`);
    if (planned !== null) this.addPlan(planned, `${directory}/${name}`);
    const m = directory === '_sluice' ? /^(prepared|done|ledger)\/(\d{1,16})\.json$/.exec(name) : null;
    if (m === null || !BATCH_ID.test(m[2])) return;
    if (m[1] === 'ledger') this.ledgerFiles.push(Number(m[2]));
    else this.#ids[m[1] as BatchKind].add(Number(m[2]));
  }
}
