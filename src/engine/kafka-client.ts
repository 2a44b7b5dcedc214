import { kafkaClientOptions } from '../config/client-options.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { KafkaClientOptions, KafkaLogLine } from '../kafka/cluster.ts';
import { tokenFunction } from '../kafka/token-function.ts';

/** How the brokers of a pipeline are reached, by its own name and with its secrets: only for what connects. */
export function kafkaClient(
  config: Pick<PipelineConfig, 'name' | 'source'>,
  log?: (line: KafkaLogLine) => void,
): KafkaClientOptions & Required<Pick<KafkaClientOptions, 'token'>> {
  const { source } = config;
  const kafka = kafkaClientOptions(source);
  return {
    bootstrapServers: source.bootstrapServers,
    clientId: source.kafka['client.id'] ?? `sluice-${config.name}`,
    kafka,
    requestDeadlineMs: source.requestDeadlineMs,
    token: tokenFunction(kafka, source.oauthToken, log),
    log,
  };
}
