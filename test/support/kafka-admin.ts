/** What an operator does to a cluster of several brokers: where replicas lie, who leads, who is throttled. */
import { randomBytes } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { KafkaCluster } from '../../src/kafka/cluster.ts';
import type { Api } from '../../src/kafka/messages/api.ts';
import type { WireReader } from '../../src/kafka/wire.ts';
import { testClient } from './read-collector.ts';

const TIMEOUT_MS = 20_000;

/** A client that does not wait long for a broker that hangs. */
async function withAdmin<T>(bootstrap: string, work: (cluster: KafkaCluster) => Promise<T>): Promise<T> {
  const kafka = { 'socket.connection.setup.timeout.ms': '1000' };
  const cluster = await KafkaCluster.connect(testClient(bootstrap, { kafka }));
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

/** Creates a topic whose partitions lie on the brokers named, the leader first. */
export async function createPlacedTopic(
  bootstrap: string,
  prefix: string,
  placement: readonly (readonly number[])[],
  config: Readonly<Record<string, string>> = {},
): Promise<string> {
  const topic = `sluice-test-${prefix}-${randomBytes(4).toString('hex')}`;
  await withAdmin(bootstrap, async (cluster) => {
    await ask(cluster, createTopic, { topic, placement, config: Object.entries(config) });
    for (const [partition, [leader]] of placement.entries())
      await awaitLeader(cluster, topic, partition, leader);
  });
  return topic;
}

/** Makes another of its replicas the leader: it becomes the preferred one, and is elected. Resolves when it leads. */
export async function moveLeader(
  bootstrap: string,
  topic: string,
  partition: number,
  replicas: readonly number[],
): Promise<void> {
  await withAdmin(bootstrap, async (cluster) => {
    await ask(cluster, reassign, { topic, partition, replicas });
    await elect(cluster, topic, partition, PREFERRED);
    await awaitLeader(cluster, topic, partition, replicas[0]);
  });
}

/** Elects a leader from any replica that lives, in step with the others or not. */
export async function electUnclean(bootstrap: string, topic: string, partition: number): Promise<void> {
  await withAdmin(bootstrap, (cluster) => elect(cluster, topic, partition, UNCLEAN));
}

/** `consumer_byte_rate` of a client id; null takes it away. */
export async function throttleClient(
  bootstrap: string,
  clientId: string,
  bytesPerSecond: number | null,
): Promise<void> {
  const admin = new Admin({ clientId: 'sluice-test-admin', bootstrapBrokers: bootstrap.split(',') });
  try {
    await admin.alterClientQuotas({
      entries: [
        {
          entities: [{ entityType: 'client-id', entityName: clientId }],
          ops: [
            bytesPerSecond === null
              ? { key: 'consumer_byte_rate', remove: true }
              : { key: 'consumer_byte_rate', value: bytesPerSecond, remove: false },
          ],
        },
      ],
    });
  } finally {
    await admin.close();
  }
}

/** Resolves when the metadata name `leader` (-1: none) as the leader of a partition. */
export function leads(bootstrap: string, topic: string, partition: number, leader: number): Promise<void> {
  return withAdmin(bootstrap, (cluster) => awaitLeader(cluster, topic, partition, leader));
}

async function awaitLeader(
  cluster: KafkaCluster,
  topic: string,
  partition: number,
  leader: number,
): Promise<void> {
  for (;;) {
    const { topics } = await cluster.metadataNow([topic]);
    if (topics[0]?.partitions[partition]?.leader === leader) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

type Codes = { errorCode: number; errorMessage: string | null }[];

async function ask<Request>(
  cluster: KafkaCluster,
  api: Api<Request, Codes>,
  request: Request,
  fine: readonly number[] = [],
): Promise<void> {
  const connection = await cluster.pool.any();
  const answers = await connection.call(api, request);
  const bad = answers.find(({ errorCode }) => errorCode !== 0 && !fine.includes(errorCode));
  if (bad !== undefined) throw new Error(`${api.name}: error ${bad.errorCode} ${bad.errorMessage ?? ''}`);
}

const PREFERRED = 0;
const UNCLEAN = 1;
const ELECTION_NOT_NEEDED = 84;

function elect(cluster: KafkaCluster, topic: string, partition: number, type: number): Promise<void> {
  return ask(cluster, electLeaders, { topic, partition, type }, [ELECTION_NOT_NEEDED]);
}

function codes(r: WireReader): { errorCode: number; errorMessage: string | null } {
  const code = { errorCode: r.int16(), errorMessage: r.nullableString() };
  r.tags();
  return code;
}

/** CreateTopics (19) with the replicas of each partition named. */
const createTopic: Api<
  {
    topic: string;
    placement: readonly (readonly number[])[];
    config: readonly (readonly [string, string])[];
  },
  Codes
> = {
  name: 'CreateTopics',
  key: 19,
  min: 5,
  max: 6,
  flexibleFrom: 5,
  write(w, { topic, placement, config }) {
    w.arrayLength(1).string(topic).int32(-1).int16(-1);
    w.array([...placement.entries()], ([partition, brokers]) => {
      w.int32(partition);
      w.array(brokers, (id) => w.int32(id)).tags();
    });
    w.array(config, ([name, value]) => w.string(name).string(value).tags());
    w.tags().int32(TIMEOUT_MS).boolean(false).tags();
  },
  read(r) {
    r.int32();
    const results = r.array(() => {
      r.string();
      const result = { errorCode: r.int16(), errorMessage: r.nullableString() };
      r.int32();
      r.int16();
      r.array(() => {
        r.string();
        r.nullableString();
        r.boolean();
        r.int8();
        r.boolean();
        r.tags();
      });
      r.tags();
      return result;
    });
    r.tags();
    return results;
  },
};

/** AlterPartitionReassignments (45). */
const reassign: Api<{ topic: string; partition: number; replicas: readonly number[] }, Codes> = {
  name: 'AlterPartitionReassignments',
  key: 45,
  min: 0,
  max: 0,
  flexibleFrom: 0,
  write(w, { topic, partition, replicas }) {
    w.int32(TIMEOUT_MS).arrayLength(1).string(topic).arrayLength(1).int32(partition);
    w.array(replicas, (id) => w.int32(id));
    w.tags().tags().tags();
  },
  read(r) {
    r.int32();
    const whole = { errorCode: r.int16(), errorMessage: r.nullableString() };
    const results = r.array(() => {
      r.string();
      const partitions = r.array(() => {
        r.int32();
        return codes(r);
      });
      r.tags();
      return partitions;
    });
    r.tags();
    return [whole, ...results.flat()];
  },
};

/** ElectLeaders (43). */
const electLeaders: Api<{ topic: string; partition: number; type: number }, Codes> = {
  name: 'ElectLeaders',
  key: 43,
  min: 2,
  max: 2,
  flexibleFrom: 2,
  write(w, { topic, partition, type }) {
    w.int8(type).arrayLength(1).string(topic).arrayLength(1).int32(partition).tags();
    w.int32(TIMEOUT_MS).tags();
  },
  read(r) {
    r.int32();
    const whole = { errorCode: r.int16(), errorMessage: null };
    const results = r.array(() => {
      r.string();
      const partitions = r.array(() => {
        r.int32();
        return codes(r);
      });
      r.tags();
      return partitions;
    });
    r.tags();
    return [whole, ...results.flat()];
  },
};
