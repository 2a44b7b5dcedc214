/**
 * Records in a real topic and what became of them, as the broker told a producer that is not ours (`@platformatic/kafka`): the
 * offset of each batch comes from the reply to Produce. It is the truth that tables are measured by.
 */
import { Consumer, ListOffsetTimestamps, Producer, stringSerializer } from '@platformatic/kafka';

export interface RecordToSend {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestampMs: bigint;
  /** A key that is no text is given as its bytes. */
  readonly headers?: readonly (readonly [string | Buffer, Buffer])[];
}

export interface SendOptions {
  compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
}

/** What a consumer should see at an offset. */
export interface ProducedRecord extends RecordToSend {
  readonly offset: bigint;
}

const EMPTY = Buffer.alloc(0);

type Client = Producer<Buffer, Buffer, Buffer, Buffer>;

/** Everything that was produced into some topics, by `topic-partition`. */
export class Produced {
  readonly records = new Map<string, Map<bigint, ProducedRecord>>();
  readonly bootstrap: string;
  #plain: Promise<Client> | undefined;
  readonly #clients: Client[] = [];

  constructor(bootstrap: string) {
    this.bootstrap = bootstrap;
  }

  /** Sends one record batch to a partition and keeps what the broker answered. Records of an aborted transaction are not kept. */
  async send(
    topic: string,
    partition: number,
    records: readonly RecordToSend[],
    options: SendOptions = {},
  ): Promise<void> {
    this.#plain ??= this.#connect({});
    const client = await this.#plain;
    const { offsets } = await client.send({
      messages: messages(topic, partition, records),
      acks: -1,
      ...options,
    });
    this.#keep(topic, partition, records, baseOffset(offsets, topic, partition));
  }

  /**
   * A transaction over several partitions, batch by batch in the order given. Ends with `end`; only committed records are
   * kept. `between` runs after each batch, while the transaction is open.
   */
  async transaction(
    transactionalId: string,
    batches: readonly { topic: string; partition: number; records: readonly RecordToSend[] }[],
    end: 'commit' | 'abort',
    between: (sent: number) => Promise<void> = async () => undefined,
  ): Promise<void> {
    const client = await this.#connect({ transactionalId, idempotent: true });
    const transaction = await client.beginTransaction();
    const told: (() => void)[] = [];
    for (const [i, { topic, partition, records }] of batches.entries()) {
      const { offsets } = await transaction.send({ messages: messages(topic, partition, records), acks: -1 });
      const base = baseOffset(offsets, topic, partition);
      told.push(() => this.#keep(topic, partition, records, base));
      await between(i + 1);
    }
    if (end === 'commit') {
      await transaction.commit();
      for (const keep of told) keep();
    } else {
      await transaction.abort();
    }
    await this.#close(client);
  }

  of(topic: string, partition: number): Map<bigint, ProducedRecord> {
    const name = `${topic}-${partition}`;
    let records = this.records.get(name);
    if (records === undefined) {
      records = new Map();
      this.records.set(name, records);
    }
    return records;
  }

  /**
   * Keeps only what the library's consumer still reads of a partition, up to `last`, which must be there: what compaction
   * has left. Each must be what was produced.
   */
  async keepWhatIsLeft(topic: string, partition: number, last: bigint): Promise<void> {
    const produced = this.of(topic, partition);
    const left = new Map<bigint, ProducedRecord>();
    const consumer = new Consumer({
      groupId: `sluice-test-left-${topic}-${partition}`,
      clientId: 'sluice-test-left',
      bootstrapBrokers: this.bootstrap.split(','),
    });
    try {
      const offsets = [...(await consumer.listOffsets({ topics: [topic], timestamp: -2n })).get(topic)!];
      const stream = await consumer.consume({
        topics: [topic],
        mode: 'manual',
        offsets: offsets.map((offset, p) => ({ topic, partition: p, offset })),
        autocommit: false,
      });
      for await (const message of stream) {
        if (message.partition !== partition) continue;
        const record = produced.get(message.offset);
        if (record === undefined || Buffer.compare(record.value ?? EMPTY, message.value ?? EMPTY) !== 0)
          throw new Error(`${topic}-${partition}@${message.offset} is not what was produced`);
        left.set(message.offset, record);
        if (message.offset === last) break;
      }
    } finally {
      await consumer.close(true);
    }
    this.records.set(`${topic}-${partition}`, left);
  }

  /** Forgets what a test deleted from the log, below `before`. */
  forget(topic: string, partition: number, before: bigint): void {
    const records = this.of(topic, partition);
    for (const offset of [...records.keys()]) if (offset < before) records.delete(offset);
  }

  count(topics?: readonly string[]): number {
    let count = 0;
    for (const [name, records] of this.records) {
      if (topics === undefined || topics.includes(name.slice(0, name.lastIndexOf('-'))))
        count += records.size;
    }
    return count;
  }

  /** To be called after partitions were added: the client keeps what it knows of a topic. */
  async forgetMetadata(): Promise<void> {
    const client = await this.#plain;
    this.#plain = undefined;
    if (client !== undefined) await this.#close(client);
  }

  async close(): Promise<void> {
    for (const client of [...this.#clients]) await this.#close(client);
  }

  #keep(topic: string, partition: number, records: readonly RecordToSend[], base: bigint): void {
    const kept = this.of(topic, partition);
    records.forEach((record, i) => {
      const offset = base + BigInt(i);
      if (kept.has(offset))
        throw new Error(`the broker gave offset ${offset} of ${topic}-${partition} twice`);
      kept.set(offset, { ...record, offset });
    });
  }

  async #connect(options: { transactionalId?: string; idempotent?: boolean }): Promise<Client> {
    const client: Client = new Producer({
      clientId: 'sluice-test-truth',
      bootstrapBrokers: this.bootstrap.split(','),
      autocreateTopics: false,
      // A topic that was made a moment ago is not known to its broker yet. A record that a retry doubled would fail the check.
      retries: 20,
      retryDelay: 50,
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  async #close(client: Client): Promise<void> {
    const at = this.#clients.indexOf(client);
    if (at >= 0) this.#clients.splice(at, 1);
    await client.close(true);
  }
}

/** The offset after the last one of every partition of a topic that a reader of committed data may see. */
export async function endsOf(bootstrap: string, topics: readonly string[]): Promise<Map<string, bigint[]>> {
  const consumer = new Consumer({
    groupId: 'sluice-test-ends',
    clientId: 'sluice-test-ends',
    bootstrapBrokers: bootstrap.split(','),
    serializers: { key: stringSerializer },
  } as ConstructorParameters<typeof Consumer>[0]);
  try {
    return await consumer.listOffsets({
      topics: [...topics],
      timestamp: ListOffsetTimestamps.LATEST,
      isolationLevel: 1,
    });
  } finally {
    await consumer.close(true);
  }
}

function messages(topic: string, partition: number, records: readonly RecordToSend[]) {
  // The library (2.12.1) writes varints of more than 31 bits wrongly; the truth must not be wrong itself.
  for (const { timestampMs } of records) {
    const delta = timestampMs - records[0].timestampMs;
    if (BigInt.asIntN(31, delta) !== delta)
      throw new Error(`times of one batch are ${delta} ms apart: send them in batches of their own`);
  }
  return records.map(({ key, value, timestampMs, headers }) => ({
    topic,
    partition,
    key: key ?? undefined,
    value: value ?? undefined,
    timestamp: timestampMs,
    headers: new Map((headers ?? []).map(([name, bytes]) => [Buffer.from(name), bytes])),
  }));
}

function baseOffset(
  offsets: readonly { topic: string; partition: number; offset: bigint }[] | undefined,
  topic: string,
  partition: number,
): bigint {
  const told = (offsets ?? []).filter((o) => o.topic === topic && o.partition === partition);
  if (told.length !== 1) throw new Error(`the broker did not tell one offset for ${topic}-${partition}`);
  return told[0].offset;
}
