import type { RegistryConfig } from '../config/pipeline-config.ts';
import type { RegisteredSchema } from '../core/value-format.ts';
import type { RegistryClient, RegistryOptions } from '../decode/registry/registry-client.ts';
import { SluiceError } from '../errors.ts';

/** The Schema Registry of a run: one client, whose answers all workers share, made when it is first needed. */
export class SchemaRegistry {
  private readonly config: RegistryConfig | null;
  private readonly stop: AbortSignal;
  private client: Promise<RegistryClient> | undefined;

  /** `stop`: plans do not wait for an answer then. A batch that is read waits until it is abandoned. */
  constructor(config: RegistryConfig | null, stop: AbortSignal) {
    this.config = config;
    this.stop = stop;
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
    return RegistryClient.create(options as unknown as RegistryOptions);
  }
}
