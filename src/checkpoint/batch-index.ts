import type { CheckpointFiles } from './checkpoint-files.ts';

/** The directories that hold one file per batch. */
export const BATCH_KINDS = ['offsets', 'commits', 'plan', 'prepared', 'done'] as const;
export type BatchKind = (typeof BATCH_KINDS)[number];

const BATCH_ID = /^(?:0|[1-9]\d{0,15})$/;

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
    const m = directory === '_sluice' ? /^(plan|prepared|done|ledger)\/(\d{1,16})\.json$/.exec(name) : null;
    if (m === null || !BATCH_ID.test(m[2])) return;
    if (m[1] === 'ledger') this.ledgerFiles.push(Number(m[2]));
    else this.#ids[m[1] as BatchKind].add(Number(m[2]));
  }
}
