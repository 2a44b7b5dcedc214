import { SluiceError } from '../../errors.ts';
import { type MissingCode, readAnswer, type SchemaBody } from './registry-answer.ts';
import type { RegistryAddress, RegistrySettings } from './registry-options.ts';
import { get, RequestFailure } from './registry-request.ts';
import type { RegistryConnections } from './registry-tls.ts';
import { Slots } from './slots.ts';

/** A round over all addresses that failed and will be repeated. `rounds`: how many have failed; `fault`: of each address. */
export interface RegistryRetry {
  readonly doing: string;
  readonly fault: string;
  readonly rounds: number;
  readonly waitMs: number;
}

/** What a client takes from the process. */
export interface RegistryHost {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** A wait that an abort ends at once with the signal's reason. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onRetry?: (retry: RegistryRetry) => void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
const LONGEST_RETRY_AFTER_MS = 30_000;
/** An answer of something else than a registry may be a proxy whose registry restarts; for this long it is believed to be. */
const FOREIGN_PATIENCE_MS = 10_000;
const REQUESTS_AT_ONCE = 8;

interface Fault {
  readonly what: string;
  readonly isForeign: boolean;
  readonly retryAfterMs: number;
  readonly cause?: unknown;
}

/** One question to a registry of several addresses, asked until there is an answer or the deadline has passed. */
export class RegistryLookup {
  private readonly settings: RegistrySettings;
  private readonly connections: RegistryConnections;
  private readonly host: RegistryHost;
  private readonly slots = new Slots(REQUESTS_AT_ONCE);
  /** The address that answered last. */
  private preferred = 0;

  constructor(settings: RegistrySettings, connections: RegistryConnections, host: RegistryHost) {
    this.settings = settings;
    this.connections = connections;
    this.host = host;
  }

  /**
   * The schema, or the code with which the registry says that it has none. Throws REGISTRY_AUTH at once on 401 and 403;
   * REGISTRY_CONFIG where for ten seconds no address answers as a registry; REGISTRY_UNREACHABLE at the deadline.
   * `elsewhere`: another address than the one that answered last is asked first, where there is one.
   */
  async ask(path: string, signal: AbortSignal, elsewhere = false): Promise<SchemaBody | MissingCode> {
    // The place is kept over the waits: a registry in trouble is not asked by a thousand look-ups at once.
    await this.slots.take(signal);
    try {
      if (elsewhere) this.preferred = (this.preferred + 1) % this.settings.addresses.length;
      return await this.askUntilDeadline(path, signal);
    } finally {
      this.slots.give();
    }
  }

  private async askUntilDeadline(path: string, signal: AbortSignal): Promise<SchemaBody | MissingCode> {
    const { addresses, deadlineMs } = this.settings;
    const startMs = this.host.now();
    const doing = `GET ${path}`;
    const faults: Fault[] = [];
    for (let rounds = 1; ; rounds++) {
      const first = this.preferred;
      for (let i = 0; i < addresses.length; i++) {
        const place = (first + i) % addresses.length;
        const leftMs = Math.max(1, deadlineMs - (this.host.now() - startMs));
        const answer = await this.askOne(addresses[place], path, leftMs, signal);
        if (typeof answer === 'number' || 'schema' in answer) {
          this.preferred = place;
          return answer;
        }
        faults[place] = answer;
        this.preferred = (place + 1) % addresses.length;
      }
      const elapsedMs = this.host.now() - startMs;
      const waitMs = this.waitMs(rounds, faults);
      const allForeign = faults.every((fault) => fault.isForeign);
      const patienceMs = allForeign ? Math.min(FOREIGN_PATIENCE_MS, deadlineMs) : deadlineMs;
      if (elapsedMs + waitMs > patienceMs) throw this.gaveUp(doing, elapsedMs, rounds, faults, allForeign);
      this.host.onRetry?.({ doing, fault: this.shown(faults), rounds, waitMs });
      await this.host.sleep(waitMs, signal);
    }
  }

  private async askOne(
    address: RegistryAddress,
    path: string,
    leftMs: number,
    signal: AbortSignal,
  ): Promise<SchemaBody | MissingCode | Fault> {
    const { requestTimeoutMs, maxResponseBytes: maxBytes } = this.settings;
    let response: Awaited<ReturnType<typeof get>>;
    try {
      response = await get(this.connections, address, path, {
        timeoutMs: Math.min(requestTimeoutMs, leftMs),
        maxBytes,
        signal,
      });
    } catch (e) {
      signal.throwIfAborted();
      if (!(e instanceof RequestFailure)) throw e;
      return { what: e.message, isForeign: e.kind !== 'transport', retryAfterMs: 0, cause: e.cause };
    }
    const answer = readAnswer(response);
    switch (answer.kind) {
      case 'schema':
        return answer.body;
      case 'missing':
        return answer.code;
      case 'denied':
        throw new SluiceError(
          'REGISTRY_AUTH',
          `the registry at ${address.shown} refused GET ${path} with ${answer.what}; check basic.auth.user.info, bearer.auth.token and what the registry lets this user read`,
          { context: { address: address.shown, path } },
        );
      case 'busy':
        return { what: answer.what, isForeign: false, retryAfterMs: answer.retryAfterMs ?? 0 };
      case 'foreign':
        return { what: answer.what, isForeign: true, retryAfterMs: 0 };
    }
  }

  /** Half of a step is sure, half is random, so that clients do not march in step. */
  private waitMs(rounds: number, faults: readonly Fault[]): number {
    const step = Math.min(FIRST_WAIT_MS * 2 ** Math.min(rounds - 1, 16), LONGEST_WAIT_MS);
    const asked = Math.min(LONGEST_RETRY_AFTER_MS, ...faults.map((fault) => fault.retryAfterMs));
    return Math.max(step / 2 + (step / 2) * this.host.random(), asked);
  }

  private shown(faults: readonly Fault[]): string {
    return this.settings.addresses.map((address, i) => `${address.shown}: ${faults[i].what}`).join('; ');
  }

  private gaveUp(
    doing: string,
    elapsedMs: number,
    rounds: number,
    faults: readonly Fault[],
    allForeign: boolean,
  ): SluiceError {
    const tries = `${rounds} ${rounds === 1 ? 'try' : 'tries'} within ${Math.round(elapsedMs / 100) / 10} s`;
    const context = { addresses: this.settings.addresses.map((a) => a.shown), path: doing, rounds };
    const cause = faults.findLast((fault) => fault.cause !== undefined)?.cause;
    if (allForeign)
      return new SluiceError(
        'REGISTRY_CONFIG',
        `${doing}: no Schema Registry answered in ${tries}: ${this.shown(faults)}; check schema.registry.url with its base path, and the schema.registry.ssl.* options`,
        { context, cause },
      );
    return new SluiceError(
      'REGISTRY_UNREACHABLE',
      `gave up ${doing} after ${tries}: ${this.shown(faults)}; no record was put aside for it: bring the registry back and run again`,
      { context, cause },
    );
  }
}
