import { setTimeout as delay } from 'node:timers/promises';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { Flights } from './flights.ts';
import type { SchemaBody, SchemaReference } from './registry-answer.ts';
import { type RegistryHost, RegistryLookup } from './registry-lookup.ts';
import { type RegistryOptions, type RegistrySettings, readRegistrySettings } from './registry-options.ts';
import { RegistryConnections } from './registry-tls.ts';
import { resolveReferences, unusable } from './schema-references.ts';

export type { RegistryHost, RegistryRetry } from './registry-lookup.ts';
export type { RegistryOptions } from './registry-options.ts';

/** The newest version of a subject. */
export interface LatestSchema extends RegisteredSchema {
  readonly subject: string;
  readonly version: number;
}

/** A registry of several nodes may learn of a new schema on one of them a moment after the other has given its id away. */
const ASK_AGAIN_MS = 500;
/** So many times within the life of a negative answer; then the first answer is believed: a topic of something else is full of ids. */
const MAX_DOUBTS = 8;
/** Garbage looks like ids: of so many unknown ones it is remembered that they are. */
const MAX_MISSING = 100_000;
const LARGEST_ID = 0x7fff_ffff;
const TYPES: readonly string[] = ['AVRO', 'PROTOBUF', 'JSON'] satisfies RegisteredSchema['type'][];

const PROCESS: RegistryHost = {
  now: () => performance.now(),
  random: Math.random,
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal });
    } catch (e) {
      throw signal.aborted ? signal.reason : e;
    }
  },
};

/**
 * Schemas of a Schema Registry by their ids (Confluent's API). An id is looked up once and kept for ever; that it is
 * unknown is believed after a second answer, and for `schema.registry.missing.cache.ttl.ms`. Callers that ask for
 * one id at the same time share one look-up. A registry at fault is an error, never an unknown id.
 */
export class RegistryClient {
  private readonly settings: RegistrySettings;
  private readonly host: RegistryHost;
  private readonly connections: RegistryConnections;
  private readonly lookup: RegistryLookup;
  private readonly known = new Map<number, RegisteredSchema>();
  /** Ids that the registry does not know, and when that is to be asked again; oldest first. */
  private readonly missing = new Map<number, number>();
  private readonly versions = new Map<string, SchemaBody>();
  private readonly byId = new Flights<number, RegisteredSchema | null>();
  private readonly bySubject = new Flights<string, LatestSchema | null>();
  private doubts = MAX_DOUBTS;
  private doubtsSinceMs = 0;
  private isClosed = false;

  private constructor(settings: RegistrySettings, host: RegistryHost) {
    this.settings = settings;
    this.host = host;
    this.connections = new RegistryConnections(settings, host.now);
    this.lookup = new RegistryLookup(settings, this.connections, host);
  }

  /**
   * Checks the options and the files that they name; nothing is asked yet. What `host` lacks is taken from the process.
   * Throws CONFIG_INVALID.
   */
  static async create(
    options: RegistryOptions,
    host: Partial<RegistryHost> = PROCESS,
  ): Promise<RegistryClient> {
    const settings = readRegistrySettings(options);
    const client = new RegistryClient(settings, { ...PROCESS, ...host });
    if (settings.addresses.some((address) => address.base.protocol === 'https:'))
      await client.connections.agent('https:');
    return client;
  }

  /** What is known of an id without asking: its schema, null where it is known to be unknown, undefined else. */
  cached(id: number): RegisteredSchema | null | undefined {
    if (!Number.isInteger(id) || id < 0 || id > LARGEST_ID) return null;
    const known = this.known.get(id);
    if (known !== undefined) return known;
    const until = this.missing.get(id);
    return until !== undefined && this.host.now() < until ? null : undefined;
  }

  /**
   * The schema of an id with all that it refers to, or null where the registry does not know it as a schema of Avro,
   * Protobuf or JSON. Throws REGISTRY_AUTH, REGISTRY_CONFIG, REGISTRY_UNREACHABLE and REGISTRY_SCHEMA; an abort rejects with
   * the signal's reason.
   */
  async schema(id: number, signal?: AbortSignal): Promise<RegisteredSchema | null> {
    this.mustBeOpen();
    const cached = this.cached(id);
    if (cached !== undefined) return cached;
    return this.byId.join(id, signal, (flight) => this.fetchId(id, flight));
  }

  /** As `schema`, for several ids, looked up side by side. The first error gives the others up. */
  async schemas(ids: readonly number[], signal?: AbortSignal): Promise<Map<number, RegisteredSchema | null>> {
    const controller = new AbortController();
    const both = signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]);
    const unique = [...new Set(ids)];
    try {
      const found = await Promise.all(unique.map((id) => this.schema(id, both)));
      return new Map(unique.map((id, i) => [id, found[i]]));
    } catch (e) {
      controller.abort(e);
      throw e;
    }
  }

  /** The newest version of a subject as it is now, or null where there is none. Throws as `schema` does. */
  async latest(subject: string, signal?: AbortSignal): Promise<LatestSchema | null> {
    this.mustBeOpen();
    return this.bySubject.join(subject, signal, (flight) => this.fetchLatest(subject, flight));
  }

  /** Gives up what is on its way and closes the connections. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.byId.abort(closed());
    this.bySubject.abort(closed());
    this.connections.close();
  }

  private mustBeOpen(): void {
    if (this.isClosed) throw closed();
  }

  private async fetchId(id: number, signal: AbortSignal): Promise<RegisteredSchema | null> {
    const path = `/schemas/ids/${id}`;
    let answer = await this.lookup.ask(path, signal);
    if (typeof answer === 'number' && this.takeDoubt()) {
      await this.host.sleep(ASK_AGAIN_MS, signal);
      answer = await this.lookup.ask(path, signal, true);
      if (typeof answer !== 'number') this.doubts = MAX_DOUBTS;
    }
    // Apicurio gives ids to documents of other kinds too.
    if (typeof answer === 'number' || !TYPES.includes(answer.type)) return this.rememberMissing(id);
    const schema = await this.withReferences(id, answer, `schema ${id}`, signal);
    this.known.set(id, schema);
    this.missing.delete(id);
    return schema;
  }

  private takeDoubt(): boolean {
    if (this.host.now() - this.doubtsSinceMs >= this.settings.missingTtlMs) {
      this.doubts = MAX_DOUBTS;
      this.doubtsSinceMs = this.host.now();
    }
    return this.doubts-- > 0;
  }

  private rememberMissing(id: number): null {
    this.missing.delete(id);
    this.missing.set(id, this.host.now() + this.settings.missingTtlMs);
    if (this.missing.size > MAX_MISSING) {
      const [oldest] = this.missing.keys();
      this.missing.delete(oldest);
    }
    return null;
  }

  private async fetchLatest(subject: string, signal: AbortSignal): Promise<LatestSchema | null> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions/latest`;
    const body = await this.lookup.ask(path, signal);
    if (typeof body === 'number') return null;
    const root = `the latest schema of subject ${subject}`;
    if (!TYPES.includes(body.type))
      throw unusable(root, `it is of type ${body.type}; Avro, Protobuf or JSON is expected`);
    if (body.id === null || body.version === null)
      throw unusable(root, 'the registry tells no id or no version of it');
    return { ...(await this.withReferences(body.id, body, root, signal)), subject, version: body.version };
  }

  private async withReferences(
    id: number,
    body: SchemaBody,
    root: string,
    signal: AbortSignal,
  ): Promise<RegisteredSchema> {
    const references = await resolveReferences(root, body.references, (reference) =>
      this.fetchVersion(reference, root, signal),
    );
    return { id, type: body.type as RegisteredSchema['type'], schema: body.schema, references };
  }

  /** A version never changes. `deleted=true`: one that was deleted softly is still referred to, as in Confluent's clients. */
  private async fetchVersion(
    reference: SchemaReference,
    root: string,
    signal: AbortSignal,
  ): Promise<SchemaBody> {
    const { name, subject, version } = reference;
    const key = `${version} ${subject}`;
    const known = this.versions.get(key);
    if (known !== undefined) return known;
    const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}?deleted=true`;
    let body = await this.lookup.ask(path, signal);
    if (typeof body === 'number') {
      await this.host.sleep(ASK_AGAIN_MS, signal);
      body = await this.lookup.ask(path, signal, true);
    }
    if (typeof body === 'number')
      throw unusable(
        root,
        `it refers to ${name}, version ${version} of subject ${subject}, which the registry does not have (${body})`,
      );
    this.versions.set(key, body);
    return body;
  }
}

function closed(): SluiceError {
  return new SluiceError('REGISTRY_UNREACHABLE', 'the client of the registry was closed', {
    retryable: false,
  });
}
