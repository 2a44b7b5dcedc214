/** One entry of `partitionBy`: a column of the table, or a transform of one (Iceberg spec, "Partition Transforms"). */
export interface PartitionField {
  transform: 'identity' | 'hours' | 'days' | 'months' | 'years' | 'bucket' | 'truncate';
  column: string;
  /** Buckets or width. */
  parameter?: number;
  /** `identity(topic)` and `topic` are one: two entries of the same text are one field. */
  canonical: string;
}

/** What transforms tell columns by; `any` where the type is not known yet. */
export type ColumnClass = 'text' | 'number' | 'time' | 'date' | 'other' | 'any';

/** The columns that a table will have; null: whatever it will have. */
export interface KnownColumns {
  layout: string;
  columns: Readonly<Record<string, ColumnClass>> | null;
}

export const BRONZE_COLUMN_CLASSES: Readonly<Record<string, ColumnClass>> = {
  value: 'text',
  key: 'text',
  topic: 'text',
  kafka_partition: 'number',
  kafka_offset: 'number',
  kafka_timestamp: 'time',
  ingested_at: 'time',
  dt: 'text',
  hour: 'number',
};

const BRONZE: KnownColumns = { layout: 'the bronze layout', columns: BRONZE_COLUMN_CLASSES };

function takesTime(transform: string, type: ColumnClass): boolean {
  return type === 'time' || type === 'any' || (type === 'date' && transform !== 'hours');
}

/** In words: the columns that a transform of times takes. */
function timeColumns(transform: string, columns: KnownColumns['columns']): string {
  const names = Object.entries(columns ?? {}).filter(([, type]) => takesTime(transform, type));
  return names.length === 0
    ? 'a column of times, and there is none'
    : names.map(([name]) => name).join(' or ');
}

/** Reads `dt`, `hours(kafka_timestamp)`, `bucket(16, key)`; what is wrong comes back in words. */
export function parsePartitionField(
  text: string,
  { layout, columns }: KnownColumns = BRONZE,
): PartitionField | { wrong: string } {
  const match = /^\s*([a-z]+)\s*\(\s*(?:(\d{1,9})\s*,\s*)?([^\s(),]+)\s*\)\s*$/.exec(text);
  const transform = (match?.[1].replace(/^(hour|day|month|year)$/, '$1s') ??
    'identity') as PartitionField['transform'];
  const column = match?.[3] ?? text.trim();
  const parameter = match?.[2] === undefined ? undefined : Number(match[2]);
  const type = columns === null ? 'any' : Object.hasOwn(columns, column) ? columns[column] : undefined;
  if (match === null && /[(),]/.test(text))
    return { wrong: 'expected a column or a transform such as days(kafka_timestamp), bucket(16, key)' };
  if (type === undefined)
    return { wrong: `${column} is not a column of ${layout}: ${Object.keys(columns!).join(', ')}` };
  switch (transform) {
    case 'identity':
      if (parameter !== undefined) return { wrong: 'identity takes a column and no number' };
      return { transform, column, canonical: column };
    case 'hours':
    case 'days':
    case 'months':
    case 'years':
      if (parameter !== undefined || !takesTime(transform, type))
        return { wrong: `${transform} takes ${timeColumns(transform, columns)}` };
      return { transform, column, canonical: `${transform}(${column})` };
    case 'bucket':
      if (parameter === undefined || parameter < 1)
        return { wrong: 'bucket takes a number of at least 1 and a column: bucket(16, key)' };
      return { transform, column, parameter, canonical: `bucket(${parameter}, ${column})` };
    case 'truncate':
      if (parameter === undefined || parameter < 1 || !['text', 'number', 'any'].includes(type))
        return {
          wrong: 'truncate takes a number of at least 1 and a column of text or numbers: truncate(4, topic)',
        };
      return { transform, column, parameter, canonical: `truncate(${parameter}, ${column})` };
    default:
      return {
        wrong: `${transform} is not a transform: identity, hours, days, months, years, bucket, truncate`,
      };
  }
}
