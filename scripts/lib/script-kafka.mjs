/** The Kafka of a script: the broker of KAFKA_BOOTSTRAP_SERVERS where that is set, else one of our own. */
import { startBroker } from './kafka.mjs';

/**
 * @param {import('./kafka.d.mts').BrokerOptions} options of our own broker
 * @returns {Promise<{ bootstrap: string, ours: boolean, stop: () => Promise<void> }>}
 */
export async function kafkaOfScript(options, env = process.env) {
  if (env.KAFKA_BOOTSTRAP_SERVERS) {
    process.stderr.write(`Using the Kafka at ${env.KAFKA_BOOTSTRAP_SERVERS} (KAFKA_BOOTSTRAP_SERVERS)\n`);
    return { bootstrap: env.KAFKA_BOOTSTRAP_SERVERS, ours: false, stop: async () => {} };
  }
  process.stderr.write('Starting Apache Kafka on this machine\n');
  const broker = await startBroker(options);
  process.stderr.write(`Kafka answers at ${broker.bootstrap}\n`);
  return { bootstrap: broker.bootstrap, ours: true, stop: () => broker.stop() };
}
