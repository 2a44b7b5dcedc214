import { ALL_COLUMNS } from './quarantine-columns.ts';
import { type QuarantineTable, type RecordFilter, STOP } from './quarantine-table.ts';
import type { RequeuedTable } from './requeued-table.ts';
import type { StoredHeader } from './stored-records.ts';

/** A quarantined record as it is shown. */
export interface ShownRecord {
  quarantine: string;
  topic: string;
  partition: number;
  offset: bigint;
  timestampMicros: bigint | null;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: StoredHeader[] | null;
  reason: string;
  field: string;
  message: string;
  schemaId: number | null;
  pipeline: string | null;
  batchId: bigint | null;
  quarantinedAtMicros: bigint | null;
  /** Has it gone back? */
  requeued: boolean;
  /** False where the quarantine has only the beginning of the value. */
  whole: boolean;
}

/** Up to `limit` records of a filter, one at a time; the bytes are copies. */
export async function showRecords(
  quarantine: QuarantineTable,
  requeued: RequeuedTable,
  filter: RecordFilter,
  limit: number,
  onRecord: (record: ShownRecord) => void,
): Promise<number> {
  let shown = 0;
  await quarantine.scan(ALL_COLUMNS, filter, async (records, rows) => {
    for (const row of rows) {
      if (shown === limit) return STOP;
      const found = records.key(row);
      if (found === null) continue;
      const { offset, ...key } = found;
      const headers = records.headers(row);
      onRecord({
        quarantine: quarantine.name,
        ...key,
        offset,
        timestampMicros: records.long('kafka_timestamp', row),
        key: records.bytes('key', row)?.slice() ?? null,
        value: records.bytes('value', row)?.slice() ?? null,
        headers: headers?.map((h) => ({ key: h.key, value: h.value?.slice() ?? null })) ?? null,
        reason: records.text('reason', row) ?? '',
        field: records.text('field', row) ?? '',
        message: records.text('message', row) ?? '',
        schemaId: records.integer('schema_id', row),
        quarantinedAtMicros: records.long('quarantined_at', row),
        requeued: requeued.records.has(key, offset),
        whole: records.isWhole(row),
      });
      shown++;
    }
    return shown === limit ? STOP : undefined;
  });
  return shown;
}
