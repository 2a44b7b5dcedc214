import type { NestedField, Schema } from '../core/schema.ts';

/** What a column of a bronze table is filled with. */
export type BronzeSource =
  | 'value'
  | 'key'
  | 'topic'
  | 'partition'
  | 'offset'
  | 'timestamp'
  | 'ingestedAt'
  | 'dt'
  | 'hour'
  | 'headers'
  | 'topicId'
  | 'null';

/** Column name -> source (spec 50, "Bronze layout"; the names are those of seed 004). */
export const BRONZE_COLUMNS: Readonly<Record<string, Exclude<BronzeSource, 'null'>>> = {
  value: 'value',
  key: 'key',
  topic: 'topic',
  kafka_partition: 'partition',
  kafka_offset: 'offset',
  kafka_timestamp: 'timestamp',
  ingested_at: 'ingestedAt',
  dt: 'dt',
  hour: 'hour',
  headers: 'headers',
  kafka_topic_id: 'topicId',
};

export interface BronzeOptions {
  valueType: 'string' | 'binary';
  keyType: 'string' | 'binary';
  includeHeaders: boolean;
}

const field = (id: number, name: string, type: NestedField['type'], doc: string): NestedField => ({
  id,
  name,
  required: false,
  type,
  doc,
});

/** list<struct<key string, value binary>>, with the field ids `first` to `first + 3`. */
export function headersField(id: number, firstNested: number): NestedField {
  return field(
    id,
    'headers',
    {
      type: 'list',
      elementId: firstNested,
      elementRequired: true,
      element: {
        type: 'struct',
        fields: [
          { id: firstNested + 1, name: 'key', required: true, type: 'string' },
          { id: firstNested + 2, name: 'value', required: false, type: 'binary' },
        ],
      },
    },
    'The headers of the record, in order; null where it has none.',
  );
}

/** The schema of a bronze table that Sluice creates. Field ids are 1 to 9, headers after them. */
export function bronzeSchema(options: BronzeOptions): Schema {
  const fields = [
    field(1, 'value', options.valueType, 'The value of the record, byte for byte; null for a tombstone.'),
    field(2, 'key', options.keyType, 'The key of the record; null where it has none.'),
    field(3, 'topic', 'string', 'The topic.'),
    field(4, 'kafka_partition', 'int', 'The partition of the topic.'),
    field(5, 'kafka_offset', 'long', 'The offset in the partition.'),
    field(
      6,
      'kafka_timestamp',
      'timestamptz',
      "The record's time as the broker has it; null where it has none.",
    ),
    field(7, 'ingested_at', 'timestamptz', 'When the batch that brought the record was planned.'),
    field(8, 'dt', 'string', "The day of kafka_timestamp in the pipeline's time zone, yyyy-MM-dd."),
    field(9, 'hour', 'int', "The hour of kafka_timestamp in the pipeline's time zone, 0 to 23."),
  ];
  if (options.includeHeaders) fields.push(headersField(10, 11));
  return { type: 'struct', schemaId: 0, fields };
}

/** The schema of a quarantine table (spec 40, "Quarantine"). */
export function quarantineSchema(): Schema {
  return {
    type: 'struct',
    schemaId: 0,
    fields: [
      field(1, 'topic', 'string', 'The topic.'),
      field(2, 'kafka_partition', 'int', 'The partition of the topic.'),
      field(3, 'kafka_offset', 'long', 'The offset in the partition.'),
      field(
        4,
        'kafka_timestamp',
        'timestamptz',
        "The record's time as the broker has it; null where it has none.",
      ),
      field(5, 'key', 'binary', 'The exact bytes of the key.'),
      field(6, 'value', 'binary', 'The exact bytes of the value.'),
      headersField(7, 15),
      field(8, 'reason', 'string', 'A stable reason code.'),
      field(9, 'field', 'string', 'The field at fault, where one is.'),
      field(10, 'message', 'string', 'What was expected and found.'),
      field(11, 'schema_id', 'int', "The writer schema's id in the registry, where there is one."),
      field(12, 'pipeline', 'string', 'The name of the pipeline.'),
      field(13, 'batch_id', 'long', 'The batch that met the record.'),
      field(14, 'quarantined_at', 'timestamptz', 'When the batch was planned.'),
    ],
  };
}
