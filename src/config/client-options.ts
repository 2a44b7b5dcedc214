import type { SourceConfig } from './pipeline-config.ts';

/** The `kafka.*` options as the Kafka client takes them, secrets revealed: only for the call that connects. */
export function kafkaClientOptions(source: SourceConfig): Record<string, string> {
  const options = { ...source.kafka };
  for (const [name, secret] of Object.entries(source.kafkaSecrets)) options[name] = secret.reveal();
  return options;
}
