/**
 * Vitest's global set-up of the projects that need Kafka: uses SLUICE_TEST_KAFKA where `npm test` has set it, else starts one broker
 * for the whole run, whichever projects it has.
 */
import type { TestProject } from 'vitest/node';
import { type Broker, startBroker } from '../../scripts/lib/kafka.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    kafkaBootstrap: string;
  }
}

interface SharedBroker {
  users: number;
  broker: Promise<Broker>;
}

// Every project loads this file for itself, so what they share hangs on the process.
const shared = globalThis as typeof globalThis & { sluiceTestBroker?: SharedBroker };

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.SLUICE_TEST_KAFKA;
  if (given) {
    project.provide('kafkaBootstrap', given);
    return undefined;
  }
  shared.sluiceTestBroker ??= { users: 0, broker: startBroker() };
  const mine = shared.sluiceTestBroker;
  mine.users++;
  project.provide('kafkaBootstrap', (await mine.broker).bootstrap);
  return async () => {
    if (--mine.users > 0) return;
    delete shared.sluiceTestBroker;
    await (await mine.broker).stop();
  };
}
