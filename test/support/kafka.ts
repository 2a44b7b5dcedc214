/**
 * The real Kafka of the tests. `useKafka()` is the shared broker of the run, which never restarts; a test that stops, proxies or
 * configures its broker starts one of its own by `startBroker`.
 */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { type Broker, type BrokerOptions, startBroker } from '../../scripts/lib/kafka.mjs';

export type { Broker, BrokerOptions };
export { startBroker };

export interface TestKafka {
  /** `host:port` of the shared broker. */
  readonly bootstrap: string;
  /** A topic name that no other test, run or process uses, e.g. `sluice-test-orders-5f0c21ab`. The topic is not created. */
  uniqueTopic(prefix: string): string;
}

/** The shared broker: SLUICE_TEST_KAFKA, or the one that the run's global set-up started. */
export function useKafka(): TestKafka {
  const bootstrap = process.env.SLUICE_TEST_KAFKA || inject('kafkaBootstrap');
  if (!bootstrap)
    throw new Error('This project has no Kafka: list test/support/kafka-setup.ts as its globalSetup.');
  return { bootstrap, uniqueTopic: (prefix) => `sluice-test-${prefix}-${randomBytes(4).toString('hex')}` };
}
