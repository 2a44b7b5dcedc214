import type { KafkaClientOptions } from '../../src/kafka/cluster.ts';
import type { PartitionCursor } from '../../src/kafka/partition-cursor.ts';
import { type RangeToRead, type ReadRangesOptions, readRanges } from '../../src/kafka/range-reader.ts';

/** What a read handed on, and whether each offset came once and in order. */
export interface ReadResult {
  cursors: PartitionCursor[];
  /** `topic-partition` -> offsets in the order they came. */
  offsets: Map<string, bigint[]>;
  /** `topic-partition` -> values as text, null where null; only with `values: true`. */
  values: Map<string, (string | null)[]>;
  parts: number;
  progress: { records: number; bytes: number };
}

export interface CollectOptions extends Partial<Omit<ReadRangesOptions, 'client' | 'ranges'>> {
  values?: boolean;
  client?: Partial<KafkaClientOptions>;
  /** Called after each part, before the caller's own `afterPart`. */
  onPart?: (result: ReadResult) => void | Promise<void>;
}

export function testClient(
  bootstrapServers: string,
  more: Partial<KafkaClientOptions> = {},
): KafkaClientOptions {
  return { bootstrapServers, clientId: 'sluice-test', kafka: {}, requestDeadlineMs: 30_000, ...more };
}

/** Reads ranges and collects what comes. Throws at once where an offset comes twice or out of order. */
export async function collect(
  bootstrap: string,
  ranges: readonly (Omit<RangeToRead, 'topicId'> & { topicId?: string | null })[],
  options: CollectOptions = {},
): Promise<ReadResult> {
  const { client, values, onPart, ...rest } = options;
  const result: ReadResult = {
    cursors: [],
    offsets: new Map(),
    values: new Map(),
    parts: 0,
    progress: { records: 0, bytes: 0 },
  };
  result.cursors = await readRanges({
    client: testClient(bootstrap, client),
    ranges: ranges.map((r) => ({ topicId: null, ...r })),
    isolationLevel: 'read_committed',
    budgetBytes: 16 * 1024 * 1024,
    checkUtf8Values: false,
    checkUtf8Keys: false,
    onRows(cursor, columns) {
      const name = `${cursor.topic}-${cursor.partition}`;
      const offsets = result.offsets.get(name) ?? [];
      const texts = result.values.get(name) ?? [];
      result.offsets.set(name, offsets);
      if (values) result.values.set(name, texts);
      for (let row = 0; row < columns.length; row++) {
        const offset = columns.offsets.getBigInt(row);
        const last = offsets.at(-1);
        if (last !== undefined && offset <= last)
          throw new Error(`${name}: offset ${offset} came after ${last}`);
        offsets.push(offset);
        if (values) {
          const value = columns.values.get(row);
          texts.push(value === null ? null : Buffer.from(value).toString());
        }
      }
    },
    async afterPart() {
      result.parts++;
      await onPart?.(result);
    },
    onProgress(records, bytes) {
      result.progress.records += records;
      result.progress.bytes += bytes;
    },
    ...rest,
  });
  return result;
}

/** The offsets of [from, until). */
export function offsetsOf(from: bigint, until: bigint): bigint[] {
  return Array.from({ length: Number(until - from) }, (_, i) => from + BigInt(i));
}
