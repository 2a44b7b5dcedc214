/** Records of several kinds that ask more of their tables as they go on, some of them broken; and what must have become of each. */
import type { VerifyReport } from '../../src/proof/verify-table.ts';
import type { ProducedRecord, RecordToSend } from './produced.ts';
import type { TestPipelineOptions } from './test-pipeline.ts';
import { SENT_MS, type TypedWorld } from './typed-world.ts';

export const TYPED_GROUP = 'silver.ev_${route}';

/** A rule that makes tables by kind and gives them what records ask for. */
export const TYPED_RULE: NonNullable<TestPipelineOptions['table']> = {
  value: { format: 'json', schema: 'kind STRING, id INT NOT NULL' },
  evolve: 'widen',
  tombstones: 'drop',
  route: { by: 'kind', unknown: 'create', maxTables: 10 },
};

/** Where a record must be, by the table's name without namespace; null: dropped. */
interface Expected {
  table: string | null;
  reason?: string;
  row?: Record<string, unknown>;
}

const KINDS = ['click', 'view', 'sale', 'Refund-X'];
const TABLES = ['click', 'view', 'sale', 'refund_x'];

/** The nth record of a partition: new kinds and columns come with n, ids outgrow 32 bits from 12 on. */
export function typedRecord(n: number, pipeline: string): { record: RecordToSend; expected: Expected } {
  const kindAt = (n % (2 + (n >> 3))) % KINDS.length;
  const id = n < 12 ? n : 3_000_000_000 + n;
  const row = { kind: KINDS[kindAt], id: BigInt(id), [`c${n >> 3}`]: BigInt(n) };
  const beside = `ev_${TABLES[kindAt]}__quarantine`;
  const unrouted = `${pipeline}__quarantine`;
  const of = (value: string | null, expected: Expected) => ({
    record: { key: null, value: value === null ? null : Buffer.from(value), timestampMs: SENT_MS },
    expected,
  });
  const text = `{"kind":"${row.kind}","id":${id},"c${n >> 3}":${n}`;
  if (n % 11 === 10) return of(null, { table: null });
  if (n % 9 === 4) return of(text, { table: unrouted, reason: 'INVALID_JSON' });
  if (n % 9 === 7) return of(`{"id":${n}}`, { table: unrouted, reason: 'ROUTE_UNKNOWN' });
  if (n % 9 === 5) return of(`{"kind":"${row.kind}","id":"x"}`, { table: beside, reason: 'TYPE_MISMATCH' });
  return of(`${text}}`, { table: `ev_${TABLES[kindAt]}`, row });
}

/** Sends `count` records to each partition of the world's topic. */
export async function sendTypedRecords(world: TypedWorld, count: number, pipeline = 'faults'): Promise<void> {
  for (let partition = 0; partition < world.partitions; partition++) {
    const first = world.produced.of(world.topic, partition).size;
    const records = Array.from({ length: count }, (_, i) => typedRecord(first + i, pipeline).record);
    await world.produced.send(world.topic, partition, records);
  }
}

/** Throws an error that lists what is wrong; gives what `verify` finds. */
export async function checkTypedRecords(world: TypedWorld, pipeline = 'faults'): Promise<VerifyReport> {
  const faults: string[] = [];
  const seen = new Map<string, { table: string; row: Record<string, unknown> }[]>();
  const names = [
    ...TABLES.map((t) => `ev_${t}`),
    ...TABLES.map((t) => `ev_${t}__quarantine`),
    `${pipeline}__quarantine`,
  ];
  for (const table of names) {
    for (const row of await world.rows(`silver.${table}`)) {
      const key = `${row.kafka_partition}@${row.kafka_offset}`;
      seen.set(key, [...(seen.get(key) ?? []), { table, row }]);
    }
  }
  for (let partition = 0; partition < world.partitions; partition++) {
    for (const sent of world.produced.of(world.topic, partition).values()) {
      const key = `${partition}@${sent.offset}`;
      faults.push(...faultsOf(key, sent, seen.get(key) ?? [], pipeline));
      seen.delete(key);
    }
  }
  for (const key of seen.keys()) faults.push(`${key} was never produced`);
  const proof = await world.proof(TYPED_GROUP);
  if (!proof.ok)
    faults.push(
      `verify finds ${proof.lost} lost, ${proof.duplicated} doubled, ${proof.unexpected} unexpected`,
    );
  if (faults.length > 0) throw new Error(`not exactly once:\n${faults.slice(0, 20).join('\n')}`);
  return proof;
}

function faultsOf(
  key: string,
  sent: ProducedRecord,
  found: readonly { table: string; row: Record<string, unknown> }[],
  pipeline: string,
): string[] {
  const { expected } = typedRecord(Number(sent.offset), pipeline);
  if (found.length !== (expected.table === null ? 0 : 1))
    return [`${key} is there ${found.length} times: ${found.map((f) => f.table).join()}`];
  if (expected.table === null) return [];
  const [{ table, row }] = found;
  if (table !== expected.table) return [`${key} is in ${table}, not in ${expected.table}`];
  if (expected.reason !== undefined)
    return row.reason === expected.reason && Buffer.compare(row.value as Buffer, sent.value!) === 0
      ? []
      : [`${key}: ${row.reason} with other bytes or another reason than ${expected.reason}`];
  return Object.entries(expected.row!).flatMap(([name, value]) => {
    // Files of before the column was widened hold 32 bits.
    const is = typeof row[name] === 'number' ? BigInt(row[name]) : row[name];
    return is === value ? [] : [`${key}: ${name} is ${is}, not ${value}`];
  });
}
