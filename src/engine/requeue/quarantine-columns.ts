/** Columns of a quarantine table (spec 40, "Quarantine"). */
export type QuarantineColumn =
  | 'topic'
  | 'kafka_partition'
  | 'kafka_offset'
  | 'kafka_timestamp'
  | 'key'
  | 'value'
  | 'headers'
  | 'reason'
  | 'field'
  | 'message'
  | 'schema_id'
  | 'pipeline'
  | 'batch_id'
  | 'quarantined_at';

export const ALL_COLUMNS: readonly QuarantineColumn[] = [
  'topic',
  'kafka_partition',
  'kafka_offset',
  'kafka_timestamp',
  'key',
  'value',
  'headers',
  'reason',
  'field',
  'message',
  'schema_id',
  'pipeline',
  'batch_id',
  'quarantined_at',
];
