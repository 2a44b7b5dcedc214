/** Checks between the options of a typed rule. */

import { parseSchemaText } from '../core/schema-text/parse-schema-text.ts';
import { isSluiceError, messageOf } from '../errors.ts';
import { shown } from './check.ts';
import { checkColumns } from './cross-checks-columns.ts';
import type { Report } from './fault.ts';
import type { Part } from './formats.ts';
import type { Values } from './values.ts';

/** Provenance columns that a typed table may have: those of the bronze layout. */
const PROVENANCE = [
  'topic',
  'kafka_partition',
  'kafka_offset',
  'kafka_timestamp',
  'ingested_at',
  'dt',
  'hour',
  'key',
  'value',
  'headers',
];

/** Options of one format only: given for another they would be passed over. */
const FORMATS_OF: Readonly<Record<string, readonly string[]>> = {
  compat: ['json', 'json-schema'],
  unknownFields: ['json', 'json-schema'],
  restColumn: ['json', 'json-schema'],
  caseInsensitive: ['json', 'json-schema'],
  nullDocument: ['json', 'json-schema'],
  timestampUnit: ['json', 'json-schema', 'csv'],
  decimalRounding: ['json', 'json-schema', 'csv'],
  delimiter: ['csv'],
  quote: ['csv'],
  escape: ['csv'],
  nullValue: ['csv'],
  framing: ['avro'],
  writerSchema: ['avro'],
  readerSchema: ['avro'],
  message: ['protobuf'],
};

/** Adds what contradicts itself in rule `index`. */
export function checkTyped(values: Values, index: number, fault: Report): void {
  const at = (key: string) => values.path('tables[]', key, index);
  const layout = values.get<string>('tables[]', 'layout', index);
  const given = (key: string): boolean => values.has('tables[]', key, index);
  if (layout === 'bronze') {
    for (const key of ['value', 'key', 'provenance', 'evolve', 'route'])
      if (given(key)) fault('CONTRADICTION', at(key), 'this is for typed tables; give `layout: typed` too');
    return;
  }
  if (layout !== 'typed') return;
  if (!given('value') && !given('key'))
    fault(
      'MISSING_OPTION',
      at('value'),
      'a typed table needs `value`, `key` or both, for example `value: { format: json, schema: "id BIGINT" }`',
    );
  for (const key of ['valueType', 'keyType'])
    if (given(key))
      fault(
        'CONTRADICTION',
        at(key),
        'this is for bronze tables; the types of typed tables are in their schema',
      );
  for (const name of values.get<string[]>('tables[]', 'provenance', index) ?? [])
    if (!PROVENANCE.includes(name))
      fault('WRONG_VALUE', at('provenance'), `expected ${PROVENANCE.join(', ')}; found ${shown(name)}`);
  if (given('route')) checkRoute(values, index, fault);
  else if (values.get<string>('tables[]', 'table', index)?.includes('${route}') === true)
    fault('CONTRADICTION', at('table'), '${route} needs `route`');
  for (const part of ['value', 'key'] as const) if (given(part)) checkPart(values, index, part, fault);
  checkColumns(values, index, fault);
}

/** A rule with a route needs tables to go to, and something that can say which. */
function checkRoute(values: Values, index: number, fault: Report): void {
  const at = (key: string) => values.path('tables[].route', key, index);
  const get = <T>(key: string): T | undefined => values.get<T>('tables[].route', key, index);
  const template = values.get<string>('tables[]', 'table', index);
  const isCreated = get('unknown') === 'create';
  const holds = template?.split('.').at(-1)?.includes('${route}') === true;
  if (isCreated && template !== undefined && !holds)
    fault(
      'CONTRADICTION',
      values.path('tables[]', 'table', index),
      '`route.unknown: create` needs `${route}` in the name of the table, for example silver.events_${route}',
    );
  if (!isCreated && Object.keys(get<Record<string, string>>('tables') ?? {}).length === 0)
    fault('MISSING_OPTION', at('tables'), 'without `unknown: create` this says which tables there are');
  for (const [value, table] of Object.entries(get<Record<string, string>>('tables') ?? {}))
    if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/.test(table))
      fault('WRONG_VALUE', at('tables'), `${shown(value)}: expected namespace.name, found ${shown(table)}`);
    else if (/__(quarantine|requeued)$/.test(table))
      fault('WRONG_VALUE', at('tables'), `${shown(table)} is a name for what is set aside; give another one`);
  const format = values.get<string>('tables[].value', 'format', index);
  const by = get<string>('by');
  if (by === '$recordName' && format !== 'avro')
    fault('CONTRADICTION', at('by'), '$recordName is the name of an Avro record; `value.format` is another');
  else if (by !== undefined && by !== '$recordName' && by.startsWith('$'))
    fault('WRONG_VALUE', at('by'), `expected a field of the value, or $recordName; found ${shown(by)}`);
  if (format === undefined)
    fault('MISSING_OPTION', values.path('tables[]', 'value', index), '`route` looks into the value');
}

function checkPart(values: Values, index: number, part: Part, fault: Report): void {
  const section = `tables[].${part}` as const;
  const at = (key: string) => values.path(section, key, index);
  const get = <T>(key: string): T | undefined => values.get<T>(section, key, index);
  const given = (key: string): boolean => values.has(section, key, index);
  const format = get<string>('format');
  if (format === undefined) return;
  for (const [key, formats] of Object.entries(FORMATS_OF))
    if (given(key) && !formats.includes(format))
      fault('CONTRADICTION', at(key), `this is for ${formats.join(' and ')}; the format is ${format}`);
  if (given('corruptRecordColumn') && get('mode') !== 'permissive')
    fault(
      'CONTRADICTION',
      at('corruptRecordColumn'),
      'only `mode: permissive` fills it; else a record at fault is no row',
    );
  if (get<string>('subject')?.includes('${route}') === true && !values.has('tables[]', 'route', index))
    fault('CONTRADICTION', at('subject'), '${route} needs `route`');
  if (given('restColumn') && get('unknownFields') !== 'rest')
    fault('CONTRADICTION', at('restColumn'), 'only `unknownFields: rest` fills it');
  const framing = get<string>('framing');
  const inRegistry =
    format === 'protobuf' || format === 'json-schema' || (format === 'avro' && framing === 'confluent');
  if (format === 'avro' && framing !== 'confluent' && !given('writerSchema'))
    fault(
      'MISSING_OPTION',
      at('writerSchema'),
      `framing ${framing} needs the schema that the values were written with`,
    );
  if (format === 'avro' && framing === 'confluent' && given('writerSchema'))
    fault(
      'CONTRADICTION',
      at('writerSchema'),
      'with a registry the frame says which schema a value was written with; give `readerSchema` to resolve to one',
    );
  if (inRegistry && values.get('registry', 'schema.registry.url') === undefined)
    fault(
      'MISSING_OPTION',
      ['registry', 'schema.registry.url'],
      `the format ${format} needs the address of the Schema Registry`,
    );
  checkSchema(get('schema'), format, inRegistry, (message) => fault('WRONG_VALUE', at('schema'), message));
  for (const key of ['quote', 'escape', 'delimiter']) {
    const text = get<string>(key);
    if (given(key) && text !== undefined && (text.length !== 1 || text.charCodeAt(0) > 127))
      fault('WRONG_VALUE', at(key), `expected one ASCII character, found ${shown(text)}`);
  }
}

function checkSchema(
  schema: unknown,
  format: string,
  inRegistry: boolean,
  wrong: (message: string) => void,
): void {
  if (schema === undefined || schema === 'table') return;
  if (schema === 'registry') {
    if (!inRegistry) wrong(`a registry has no schemas of ${format} values`);
    return;
  }
  if (schema === 'infer') {
    if (format !== 'json') wrong(`only the columns of json can be inferred; give a schema for ${format}`);
    return;
  }
  try {
    parseSchemaText(schema as string | object);
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    wrong(messageOf(error).replace(/^CONFIG_INVALID:\s*/, ''));
  }
}
