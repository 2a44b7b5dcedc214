import type { RegistryConfig } from '../config/pipeline-config.ts';
import type { RegisteredSchema } from '../core/value-format.ts';
import type { RegistryClient, RegistryOptions, RegistryRetry } from '../decode/registry/registry-client.ts';
import { SluiceError } from '../errors.ts';
import type { Log } from './host.ts';

/** The first failures may be a blip; from here on somebody who watches wants to know why nothing moves. */
const TOLD_FROM_ROUND = 3;
/** Then each so many: about once in 50 s, the longest waits being 5 s. */
const TOLD_EACH_ROUNDS = 10;

/** The Schema Registry of a run: one client, whose answers all workers share, made when it is first needed. */
export class SchemaRegistry {
  private readonly config: RegistryConfig | null;
  private readonly stop: AbortSignal;
  private readonly log: Pick<Log, 'debug' | 'warn'> | null;
  private client: Promise<RegistryClient> | undefined;

  /**
   * `stop`: plans do not wait for an answer then. A batch that is read waits until it is abandoned. `log` is told of
   * waits that last.
   */
  constructor(
    config: RegistryConfig | null,
    stop: AbortSignal,
    log: Pick<Log, 'debug' | 'warn'> | null = null,
  ) {
    this.config = config;
    this.stop = stop;
    this.log = log;
  }

  /** The schema of an id; null where the registry does not know it. Throws what RegistryClient throws. */
  readonly schema = async (id: number): Promise<RegisteredSchema | null> =>
    (await this.connected()).schema(id);

  /** The newest schema of a subject. Throws CONFIG_INVALID where there is none, and what RegistryClient throws. */
  async latest(subject: string): Promise<RegisteredSchema> {
    const latest = await (await this.connected()).latest(subject, this.stop);
    if (latest !== null) return latest;
    throw new SluiceError(
      'CONFIG_INVALID',
      `the registry has no subject ${subject}; name the right one with \`subject\`, or give the columns with \`schema\``,
      { context: { subject } },
    );
  }

  /** Does it know the subject? Throws what RegistryClient throws. */
  async has(subject: string): Promise<boolean> {
    return (await (await this.connected()).latest(subject, this.stop)) !== null;
  }

  async close(): Promise<void> {
    (await this.client?.catch(() => undefined))?.close();
  }

  private connected(): Promise<RegistryClient> {
    this.client ??= this.connect();
    return this.client;
  }

  private async connect(): Promise<RegistryClient> {
    if (this.config === null) {
      throw new SluiceError(
        'CONFIG_INVALID',
        'records stand in the frame of a Schema Registry, and `registry.schema.registry.url` is not given',
      );
    }
    const { RegistryClient } = await import('../decode/registry/registry-client.ts');
    const options: Record<string, unknown> = { ...this.config.options };
    for (const [key, secret] of Object.entries(this.config.secrets)) options[key] = secret.reveal();
    return RegistryClient.create(options as unknown as RegistryOptions, {
      onRetry: (retry) => this.tellOfWait(retry),
    });
  }

  private tellOfWait({ doing, fault, rounds, waitMs }: RegistryRetry): void {
    const isTold = rounds >= TOLD_FROM_ROUND && (rounds - TOLD_FROM_ROUND) % TOLD_EACH_ROUNDS === 0;
    this.log?.[isTold ? 'warn' : 'debug'](
      'the Schema Registry gives no answer: it is asked again until schema.registry.deadline.ms is over, and the batch waits',
      { error: fault, doing, tries: rounds, waitMs: Math.round(waitMs) },
    );
  }
}
