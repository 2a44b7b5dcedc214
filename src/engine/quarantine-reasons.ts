import { currentSchema } from '../iceberg/metadata.ts';
import { readColumns } from '../parquet/reader.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { WrittenFiles } from './local/batch-task.ts';
import type { QuarantineColumn } from './requeue/quarantine-columns.ts';
import { StoredRecords } from './requeue/stored-records.ts';
import { isQuarantine } from './routing.ts';
import type { TargetTables } from './target-tables.ts';

interface Reason {
  text: string;
  records: number;
  example: string;
}

const COLUMNS: readonly QuarantineColumn[] = [
  'topic',
  'kafka_partition',
  'kafka_offset',
  'reason',
  'field',
  'message',
];
/** Told in full; of the others how many there are. */
const MAX_REASONS = 3;
/** Told apart: fields may be named by the data. */
const MAX_GROUPS = 1000;
const MAX_MESSAGE = 200;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Why the records of a batch were set aside, from the files that it has written for its quarantines: the commonest reasons,
 * each with a record as an example. The files are not committed, and nobody could look into them later.
 */
export async function quarantineReasons(
  io: FileIO,
  written: readonly WrittenFiles[],
  tables: TargetTables,
): Promise<string[]> {
  const reasons = new Map<string, Reason>();
  for (const { table, files } of written) {
    const loaded = tables.loaded.get(table);
    if (loaded === undefined || !isQuarantine(table)) continue;
    const ids = new Map(currentSchema(loaded.metadata).fields.map((field) => [field.name, field.id]));
    const columns = COLUMNS.filter((column) => ids.has(column));
    for (const { filePath } of files)
      await readColumns(
        io,
        filePath,
        columns.map((column) => ids.get(column)!),
        async ({ vectors, rowCount }) => {
          const records = new StoredRecords(new Map(columns.map((c, i) => [c, vectors[i]])), rowCount);
          for (let row = 0; row < rowCount; row++) addTo(reasons, records, row);
        },
        { chunkBytes: CHUNK_BYTES },
      );
  }
  return shown([...reasons.values()]);
}

function addTo(reasons: Map<string, Reason>, records: StoredRecords, row: number): void {
  const field = records.text('field', row) ?? '';
  const text = `${records.text('reason', row) ?? ''}${field === '' ? '' : ` in ${field}`}`;
  const known = reasons.get(text);
  if (known !== undefined) known.records++;
  else if (reasons.size < MAX_GROUPS) {
    const key = records.key(row);
    const place = key === null ? '' : `${key.topic}/${key.partition}/${key.offset}: `;
    const message = records.text('message', row) ?? '';
    const cut = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message;
    reasons.set(text, { text, records: 1, example: `${place}${cut}` });
  }
}

function shown(reasons: readonly Reason[]): string[] {
  const sorted = [...reasons].sort((a, b) => b.records - a.records);
  const lines = sorted
    .slice(0, MAX_REASONS)
    .map(({ text, records, example }) => `${records} ${text} (for example ${example})`);
  const others = sorted.slice(MAX_REASONS).reduce((sum, { records }) => sum + records, 0);
  return others === 0 ? lines : [...lines, `${others} for other reasons`];
}
