/**
 * `_sluice/lease`: who runs the pipeline, told by a heartbeat, so that a second process says at once who is there. It is
 * a courtesy and never trusted for safety: that is the business of creation without overwrite.
 */
import { isSluiceError, messageOf } from '../errors.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';

/** How often a running process should call `heartbeat`. */
export const LEASE_HEARTBEAT_MS = 10_000;
/** A lease whose last heartbeat is older than this (or as far in the future) belongs to a process that is gone. */
export const LEASE_STALE_MS = 60_000;

const LEASE = '_sluice/lease';

export interface LeaseInfo extends Writer {
  pipelineName: string;
  acquiredAtMs: number;
  heartbeatAtMs: number;
}

export interface LeaseResult {
  /** False where a live process holds the lease: nothing was written, and this process should stop. */
  acquired: boolean;
  /** The lease that was found, if it was another process's. */
  previous?: LeaseInfo;
  /** Is `previous` of a process that is gone? */
  stale: boolean;
}

export interface LeaseOptions {
  files: CheckpointFiles;
  owner: Writer;
  pipelineName: string;
  now: () => number;
  warn: (message: string, context?: object) => void;
  /** Does a process of this id run on this host? Left out: told by the heartbeat alone. */
  isProcessAlive?: (pid: number) => boolean;
}

export class Lease {
  readonly #options: LeaseOptions;
  #acquiredAtMs = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  async acquire(): Promise<LeaseResult> {
    const previous = await this.read();
    const foreign =
      previous !== undefined && previous.writerId !== this.#options.owner.writerId ? previous : undefined;
    const stale = foreign !== undefined && this.#isStale(foreign);
    if (foreign !== undefined && !stale) return { acquired: false, previous: foreign, stale };
    this.#acquiredAtMs = this.#options.now();
    await this.#write();
    return { acquired: true, previous: foreign, stale };
  }

  /** Renews the lease. Returns the lease of another process that took it meanwhile; then nothing is written. */
  async heartbeat(): Promise<LeaseInfo | undefined> {
    const found = await this.read();
    if (found !== undefined && found.writerId !== this.#options.owner.writerId) return found;
    await this.#write();
    return undefined;
  }

  async release(): Promise<void> {
    const found = await this.read();
    if (found?.writerId === this.#options.owner.writerId) await this.#options.files.delete(LEASE);
  }

  /** The lease as it stands; one that holds no lease is as good as none. Throws what the storage throws. */
  async read(): Promise<LeaseInfo | undefined> {
    const { files, warn } = this.#options;
    try {
      return (await files.read(LEASE, FILE_KINDS.lease, parseLease)) ?? undefined;
    } catch (error) {
      if (!isSluiceError(error, 'CHECKPOINT_CORRUPT') && !isSluiceError(error, 'CHECKPOINT_VERSION'))
        throw error;
      warn(`the lease of the checkpoint cannot be read and is ignored: ${messageOf(error)}`, {
        location: files.location,
      });
      return undefined;
    }
  }

  #isStale(lease: LeaseInfo): boolean {
    const { now, owner, isProcessAlive } = this.#options;
    if (Math.abs(now() - lease.heartbeatAtMs) > LEASE_STALE_MS) return true;
    // The same process id with another writer id is a process that ended before this one began.
    if (lease.host !== owner.host) return false;
    return lease.pid === owner.pid || (isProcessAlive !== undefined && !isProcessAlive(lease.pid));
  }

  #write(): Promise<void> {
    const { files, owner, pipelineName, now } = this.#options;
    const record = { pipelineName, acquiredAtMs: this.#acquiredAtMs, heartbeatAtMs: now() };
    return files.replace(LEASE, formatEnvelope('lease', owner, now(), record));
  }
}

function parseLease(bytes: Uint8Array): LeaseInfo {
  const { writer, record } = parseEnvelope('lease', bytes, (o) => ({
    pipelineName: o.string('pipelineName'),
    acquiredAtMs: o.integer('acquiredAtMs'),
    heartbeatAtMs: o.integer('heartbeatAtMs'),
  }));
  return { ...writer, ...record };
}
