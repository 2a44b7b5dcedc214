/** The options of `value` and `key` under a rule with `layout: typed`: how bytes become columns. */
import type { Option, Section } from './option.ts';

const SINCE = '0.1.0';

/** What both parts know; `key` begins its columns with a prefix. */
function formatOptions(section: Section): Option[] {
  const option = (key: string, doc: string, type: Option['type'], more: Partial<Option> = {}): Option => ({
    section,
    key,
    doc,
    type,
    since: SINCE,
    ...more,
  });
  return [
    option(
      'format',
      'What the bytes are. avro, protobuf and json-schema stand in the frame of a Schema Registry (see `framing`).',
      { kind: 'choice', values: ['json', 'avro', 'protobuf', 'json-schema', 'csv'] },
      { required: true },
    ),
    option(
      'schema',
      'The columns: Spark DDL (`id BIGINT NOT NULL, amount DECIMAL(12,2)`), a StructType as JSON, an Iceberg schema as JSON, `file:PATH` of any of them, `table` (those that the table has), `registry` (the latest schema of `subject`), or `infer` (from a sample of the topic, when the table is made; texts stay texts, also those that look like times). Without it: `table` where the table is there, else `registry` for the formats of a registry.',
      { kind: 'schema' },
    ),
    option(
      'subject',
      'The subject of the registry from which `schema: registry` takes the columns; `${topic}` is the topic as it is, `${route}`, with `route`, likewise what leads to the table: `${topic}-${route}` and `${route}` are the subjects of topics with several kinds of records.',
      { kind: 'text' },
      {
        default: section === 'tables[].key' ? '${topic}-key' : '${topic}-value',
        placeholders: ['topic', 'route'],
      },
    ),
    option(
      'inferRecords',
      'How many records of the topic `schema: infer` looks at.',
      { kind: 'integer', min: 1, max: 1_000_000 },
      { default: 1000, unit: 'records' },
    ),
    option(
      'mode',
      'What becomes of a record that cannot be decoded: kept with its bytes in the quarantine; as Spark’s PERMISSIVE, null where nothing can be read; FAILFAST, the run stops; DROPMALFORMED, dropped and counted.',
      { kind: 'choice', values: ['quarantine', 'permissive', 'failfast', 'dropmalformed'] },
      { default: 'quarantine' },
    ),
    option(
      'corruptRecordColumn',
      'Under `mode: permissive`, the string column that takes the text of a record at fault, such as `_corrupt_record`.',
      { kind: 'text' },
    ),
    option(
      'compat',
      'JSON: `strict` as RFC 8259 and the column types say, `spark` as from_json reads.',
      { kind: 'choice', values: ['strict', 'spark'] },
      { default: 'strict' },
    ),
    option(
      'unknownFields',
      'JSON: fields that no column takes are passed over, kept together as one JSON text in `restColumn`, or send the record to the quarantine. With `evolve` they become columns first.',
      { kind: 'choice', values: ['ignore', 'rest', 'quarantine'] },
      { default: 'ignore' },
    ),
    option(
      'restColumn',
      'The string column of `unknownFields: rest`.',
      { kind: 'text' },
      { default: '_rest' },
    ),
    option(
      'caseInsensitive',
      'JSON: names are matched whatever their case; a record in which two match one column is quarantined.',
      { kind: 'boolean' },
      { default: false },
    ),
    option(
      'timestampUnit',
      'JSON and CSV: the unit of a number in a timestamp column.',
      { kind: 'choice', values: ['seconds', 'millis', 'micros', 'nanos'] },
      { default: 'millis' },
    ),
    option(
      'decimalRounding',
      'JSON and CSV: more digits than a decimal column holds behind the point are refused, or rounded half up.',
      { kind: 'choice', values: ['refuse', 'halfUp'] },
      { default: 'refuse' },
    ),
    option(
      'nullDocument',
      'JSON: what the document `null` is: a row of nulls, or a record for the quarantine.',
      { kind: 'choice', values: ['row', 'quarantine'] },
      { default: 'quarantine' },
    ),
    option('delimiter', 'CSV: the character between fields.', { kind: 'text' }, { default: ',' }),
    option('quote', 'CSV: the character around a field.', { kind: 'text' }, { default: '"' }),
    option(
      'escape',
      'CSV: the character before a quote inside of quotes.',
      { kind: 'text' },
      { default: '"' },
    ),
    option(
      'nullValue',
      'CSV: the unquoted text that stands for null; without it, nothing between two delimiters.',
      { kind: 'text' },
    ),
    option(
      'framing',
      'Avro: the five bytes of a Schema Registry before the datum, a bare datum of `writerSchema`, or the single-object encoding.',
      { kind: 'choice', values: ['confluent', 'plain', 'singleObject'] },
      { default: 'confluent' },
    ),
    option('writerSchema', 'Avro without a registry: the schema, JSON or `file:PATH`.', { kind: 'schema' }),
    option(
      'readerSchema',
      'Avro: the schema that values are resolved to, JSON or `file:PATH`. Without it each writer schema is matched with the columns by name.',
      { kind: 'schema' },
    ),
    option('message', 'Protobuf: the full name of the message; without it, what the frame says.', {
      kind: 'text',
    }),
  ];
}

export const FORMAT_OPTIONS: readonly Option[] = [
  ...formatOptions('tables[].value'),
  ...formatOptions('tables[].key'),
  {
    section: 'tables[].key',
    key: 'prefix',
    doc: 'Stands before the name of each column of the key.',
    type: { kind: 'text', pattern: /^[A-Za-z0-9_]*$/, what: 'letters, digits and `_`' },
    default: 'key_',
    since: SINCE,
  },
];
