import { formatDdl } from '../../core/schema-text/format-ddl.ts';
import { tableNameOfTopic } from '../../core/table-name.ts';
import { count, counted } from '../../monitor/progress-line.ts';
import type { Sniffed } from './value-sniffer.ts';

export interface PipelinePlace {
  bootstrap: string;
  topic: string;
  /** Options of the Kafka client, `kafka.` before their names. */
  kafka: readonly (readonly [key: string, value: string])[];
}

export interface SampleFacts extends Sniffed {
  partitions: number;
  offsets: bigint;
  cut: boolean;
}

const PROVENANCE = ['topic', 'kafka_partition', 'kafka_offset', 'kafka_timestamp'];
const MAX_NOTES = 10;

/** The beginning of a pipeline file: all but its tables. */
export function sourceText({ bootstrap, topic, kafka }: PipelinePlace): string {
  const name = pipelineName(topic);
  const options = kafka.map(([key, value]) => `  ${key}: ${scalar(value)}\n`).join('');
  return `name: ${scalar(name)}
# Where the pipeline keeps how far it is. Paths are relative to the directory that the command runs in.
checkpointLocation: ${scalar(`./warehouse/_checkpoints/${name}`)}
catalog:
  type: sqlite
  uri: ./warehouse/catalog.db
  warehouse: ./warehouse
source:
  kafka.bootstrap.servers: ${scalar(bootstrap)}
${options}  subscribe: ${scalar(topic)}
  # For the first run only; later ones go on where the checkpoint ends.
  startingOffsets: earliest
# A batch a minute. \`availableNow\` reads what is there, then ends.
trigger:
  processingTime: 1 minute
`;
}

/** A whole pipeline file for what a sample of the topic showed. */
export function pipelineText(place: PipelinePlace, facts: SampleFacts): string {
  const intro = [...sampleNotes(place.topic, facts), ...kindNotes(facts)].map((line) => `# ${line}\n`);
  const match = `  - match: ${scalar(place.topic)}\n`;
  const table = facts.kind === 'json' && facts.schema !== null ? typedTable(facts) : bronzeTable(facts);
  return `${intro.join('')}${sourceText(place)}tables:\n${match}${table}`;
}

function sampleNotes(topic: string, facts: SampleFacts): string[] {
  const records = facts.values + facts.tombstones + facts.empty;
  const read = `${counted(records, 'record')} from the ends of its ${counted(facts.partitions, 'partition')}`;
  const notes = [
    `Made by \`sluice init\` for the topic ${printable(topic)}, which holds about ${count(facts.offsets)} records.`,
    records === 0
      ? 'No record could be read: what the values are is for you to say.'
      : `It read ${read}${facts.cut ? ', and stopped early for their size or for time' : ''}: what is rare may be missing below.`,
  ];
  if (facts.tombstones > 0)
    notes.push(`${counted(facts.tombstones, 'record')} had no value (see \`tombstones\`).`);
  if (facts.empty > 0) notes.push(`${counted(facts.empty, 'value')} had no bytes.`);
  return notes;
}

function kindNotes(facts: SampleFacts): string[] {
  const rest = facts.values - facts.matching;
  const others =
    rest === 0 ? '' : `; ${count(rest)} ${rest === 1 ? 'is' : 'are'} not, and would go to the quarantine`;
  const of = `${rest === 0 ? 'All' : count(facts.matching)} of the ${counted(facts.values, 'value')}`;
  switch (facts.kind) {
    case 'json':
      return [`${of} are JSON objects${others}.`, ...inferenceNotes(facts)];
    case 'csv':
      return [
        `${of} are lines of ${facts.csv!.fields} fields with ${JSON.stringify(facts.csv!.delimiter)} between them. See below for columns.`,
      ];
    case 'registry':
    case 'registry-json':
      return [
        `${of} stand in the frame of a Schema Registry, schemas ${facts.schemaIds.join(', ')}. See below for columns.`,
      ];
    case 'avro-single-object':
      return [`${of} are Avro in the single-object encoding. See below for columns.`];
    case 'text':
      return ['The values are text.'];
    case 'binary':
      return ['The values are bytes of no format that is known here.'];
    default:
      return [];
  }
}

function inferenceNotes({ inference, schema }: SampleFacts): string[] {
  const notes: string[] = [];
  if (schema === null) notes.push('No field of them has a value yet: the table keeps them as they are.');
  for (const { path, kinds } of inference.conflicts.slice(0, MAX_NOTES))
    notes.push(
      `${printable(path)} is both ${kinds[0]} and ${kinds[1]}: as STRING it sends what is no text to the quarantine.`,
    );
  for (const [path, why] of [...inference.refused].slice(0, MAX_NOTES))
    notes.push(`${printable(path)} becomes no column: ${why}.`);
  if (inference.leftOut > 0) notes.push('There are too many different fields: not all became columns.');
  if (inference.tooDeep > 0) notes.push('What is nested very deep became no column.');
  return notes;
}

function typedTable(facts: SampleFacts): string {
  const names = new Set(facts.schema!.fields.map((field) => field.name.toLowerCase()));
  const provenance = PROVENANCE.filter((name) => !names.has(name));
  const left = PROVENANCE.filter((name) => names.has(name))
    .map(printable)
    .join(', ');
  const clash =
    left === ''
      ? ''
      : `    # ${left}: a field has this name. \`sluice verify\` needs topic, kafka_partition and kafka_offset of Kafka.
    provenance: [${provenance.join(', ')}]
`;
  return `    layout: typed
    table: typed.\${topic}
    value:
      format: json
      # What no column takes: ignore, rest (kept as JSON text in a column) or quarantine.
      unknownFields: ignore
      # Where a number is a timestamp: seconds, millis, micros or nanos.
      timestampUnit: millis
      schema: ${ddlScalar(formatDdl(facts.schema!, ',\n'), '        ')}
    # New fields become columns under \`add\`; under \`widen\` types grow and columns become optional too.
    evolve: none
${clash}`;
}

function bronzeTable(facts: SampleFacts): string {
  const binary =
    facts.kind !== 'json' && facts.kind !== 'csv' && facts.kind !== 'text' && facts.kind !== 'none';
  const keyType = facts.textKeys ? '    keyType: string\n' : '';
  return `    layout: bronze
    table: bronze.\${topic}
    # Text that is not UTF-8 goes to the quarantine, binary takes any bytes.
    valueType: ${binary ? 'binary' : 'string'}
${keyType}${typedHint(facts)}`;
}

/** How columns are had, as comments: nobody but the reader knows their names, or where the registry is. */
function typedHint({ kind, csv }: SampleFacts): string {
  const lines = ((): string[] => {
    switch (kind) {
      case 'csv': {
        const columns = Array.from({ length: csv!.fields }, (_, i) => `c${i + 1} STRING`).join(', ');
        return [
          'value:',
          '  format: csv',
          `  delimiter: ${JSON.stringify(csv!.delimiter)}`,
          `  schema: ${columns}`,
        ];
      }
      case 'registry':
        return [
          'value: { format: avro, schema: registry }   # or protobuf',
          '(and the address of the registry: registry: { schema.registry.url: ... })',
        ];
      case 'registry-json':
        return [
          'value: { format: json-schema, schema: registry }',
          '(and the address of the registry: registry: { schema.registry.url: ... })',
        ];
      case 'avro-single-object':
        return [
          'value: { format: avro, framing: singleObject, writerSchema: "file:schema.avsc", schema: ... }',
        ];
      default:
        return [];
    }
  })();
  if (lines.length === 0) return '';
  return ['For columns: in place of `layout` and `valueType`', 'layout: typed', ...lines]
    .map((line) => `    # ${line}\n`)
    .join('');
}

export function pipelineName(topic: string): string {
  const name = topic.replace(/^[^A-Za-z0-9]+/, '').slice(0, 100);
  return name === '' ? `topic_${tableNameOfTopic(topic).slice(0, 100)}` : name;
}

/** A text as a scalar of YAML on one line; `${` is not a variable. */
function scalar(text: string): string {
  return /^[A-Za-z./][A-Za-z0-9._/-]*$/.test(text) &&
    !/^(?:true|false|null|yes|no|on|off|y|n|\.nan|\.inf|~)$/i.test(text)
    ? text
    : quoted(text);
}

/** In double quotes as JSON has it, which YAML reads too; nothing beyond ASCII. */
function quoted(text: string): string {
  return JSON.stringify(withoutVariables(text)).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `${` stands for a variable in a pipeline file, `$${` for the two characters. */
function withoutVariables(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** DDL as a block of lines, or in quotes where it holds characters that a block of YAML may not. */
function ddlScalar(ddl: string, indent: string): string {
  if (!/^[\x20-\x7e\n\p{L}\p{M}\p{N}]*$/u.test(ddl)) return quoted(ddl);
  const text = withoutVariables(ddl);
  return `|\n${text
    .split('\n')
    .map((line) => `${indent}${line}`)
    .join('\n')}`;
}

/** A name from data in a comment: on its line, and nothing that a terminal or YAML takes amiss. */
function printable(name: string): string {
  const short = name.length > 100 ? `${name.slice(0, 100)}...` : name;
  return /^[\w.[\]-]+$/.test(short) ? short : quoted(short);
}
