/** A topic, a pipeline of a typed table over it, and what an independent reader finds in its tables. */
import { type VerifyReport, verifyTable } from '../../src/proof/verify-table.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { createTopic } from './fault-topics.ts';
import { readIndependently } from './independent-table.ts';
import { Produced, type RecordToSend } from './produced.ts';
import { TestPipeline, type TestPipelineOptions } from './test-pipeline.ts';

export const TYPED_TABLE = 'silver.events';
/** 2026-07-14T09:00:00Z. */
export const SENT_MS = 1_784_019_600_000n;

type Bytes = string | Uint8Array | null;

export class TypedWorld {
  readonly bootstrap: string;
  readonly produced: Produced;
  readonly topic: string;
  readonly partitions: number;
  pipeline!: TestPipeline;

  private constructor(bootstrap: string, topic: string, partitions: number) {
    this.bootstrap = bootstrap;
    this.produced = new Produced(bootstrap);
    this.topic = topic;
    this.partitions = partitions;
  }

  static async create(bootstrap: string, partitions = 1): Promise<TypedWorld> {
    return new TypedWorld(bootstrap, await createTopic(bootstrap, 'typed', partitions), partitions);
  }

  /** The values of records without keys, or pairs of key and value, into partition 0. */
  async send(...records: (Bytes | readonly [Bytes, Bytes])[]): Promise<void> {
    await this.sendTo(0, records);
  }

  async sendTo(partition: number, records: readonly (Bytes | readonly [Bytes, Bytes])[]): Promise<void> {
    const list = records.map((record): RecordToSend => {
      const [key, value] = isPair(record) ? record : [null, record];
      return { key: bytesOf(key), value: bytesOf(value), timestampMs: SENT_MS };
    });
    await this.produced.send(this.topic, partition, list);
  }

  make(
    table: NonNullable<TestPipelineOptions['table']>,
    more: Partial<TestPipelineOptions> = {},
  ): TestPipeline {
    const before = this.pipeline;
    this.pipeline = new TestPipeline({
      bootstrap: this.bootstrap,
      topics: [this.topic],
      intoTable: TYPED_TABLE,
      table: { layout: 'typed', ...table },
      ...more,
    });
    before?.remove();
    return this.pipeline;
  }

  /** By partition and offset. */
  async rows(table = TYPED_TABLE): Promise<Record<string, unknown>[]> {
    const found = await readIndependently(this.pipeline.catalogFile, table);
    return (found?.rows ?? []).sort(
      (a, b) =>
        Number(a.kafka_partition) - Number(b.kafka_partition) ||
        Number(a.kafka_offset) - Number(b.kafka_offset),
    );
  }

  /** `offset REASON field` of a quarantine. */
  async faults(table = `${TYPED_TABLE}__quarantine`): Promise<string[]> {
    return (await this.rows(table)).map((r) => `${r.kafka_offset} ${r.reason} ${r.field}`);
  }

  async proof(table = TYPED_TABLE): Promise<VerifyReport> {
    const catalog = await this.pipeline.openCatalog();
    try {
      return await verifyTable(
        { checkpoint: await this.pipeline.openCheckpoint(), catalog, io: new LocalFileIO() },
        table,
      );
    } finally {
      await catalog.close();
    }
  }

  async close(): Promise<void> {
    await this.produced.close();
    this.pipeline?.remove();
  }
}

function isPair(record: Bytes | readonly [Bytes, Bytes]): record is readonly [Bytes, Bytes] {
  return Array.isArray(record);
}

function bytesOf(bytes: Bytes): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes as string);
}

/** Rows without the columns of provenance; those of `columns` that a file does not have are null. */
export function plainRows(
  rows: readonly Record<string, unknown>[],
  columns: readonly string[] = [],
): Record<string, unknown>[] {
  const nulls = Object.fromEntries(columns.map((name) => [name, null]));
  return rows.map((row) => {
    const kept = Object.entries(row).filter(([name]) => !PROVENANCE.has(name));
    return { ...nulls, ...Object.fromEntries(kept) };
  });
}

const PROVENANCE = new Set(['topic', 'kafka_partition', 'kafka_offset', 'kafka_timestamp']);
