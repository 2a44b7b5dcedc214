/** One entry of `partitionBy`: a column of the bronze layout, or a transform of one (Iceberg spec, "Partition Transforms"). */
export interface PartitionField {
  transform: 'identity' | 'hours' | 'days' | 'months' | 'years' | 'bucket' | 'truncate';
  column: string;
  /** Buckets or width. */
  parameter?: number;
  /** `identity(topic)` and `topic` are one: two entries of the same text are one field. */
  canonical: string;
}

const COLUMNS: Readonly<Record<string, 'text' | 'number' | 'time'>> = {
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

/** Reads `dt`, `hours(kafka_timestamp)`, `bucket(16, key)`; what is wrong comes back in words. */
export function parsePartitionField(text: string): PartitionField | { wrong: string } {
  const match = /^\s*([a-z]+)\s*\(\s*(?:(\d{1,9})\s*,\s*)?([A-Za-z0-9_]+)\s*\)\s*$/.exec(text);
  const transform = (match?.[1].replace(/^(hour|day|month|year)$/, '$1s') ??
    'identity') as PartitionField['transform'];
  const column = match?.[3] ?? text.trim();
  const parameter = match?.[2] === undefined ? undefined : Number(match[2]);
  const type = Object.hasOwn(COLUMNS, column) ? COLUMNS[column] : undefined;
  if (match === null && /[(),]/.test(text))
    return { wrong: 'expected a column or a transform such as days(kafka_timestamp), bucket(16, key)' };
  if (type === undefined)
    return { wrong: `${column} is not a column of the bronze layout: ${Object.keys(COLUMNS).join(', ')}` };
  switch (transform) {
    case 'identity':
      if (parameter !== undefined) return { wrong: 'identity takes a column and no number' };
      return { transform, column, canonical: column };
    case 'hours':
    case 'days':
    case 'months':
    case 'years':
      if (parameter !== undefined || type !== 'time')
        return { wrong: `${transform} takes kafka_timestamp or ingested_at` };
      return { transform, column, canonical: `${transform}(${column})` };
    case 'bucket':
      if (parameter === undefined || parameter < 1)
        return { wrong: 'bucket takes a number of at least 1 and a column: bucket(16, key)' };
      return { transform, column, parameter, canonical: `bucket(${parameter}, ${column})` };
    case 'truncate':
      if (parameter === undefined || parameter < 1 || type === 'time')
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
