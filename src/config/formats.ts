/** `value` and `key` of a typed rule, as the engine sees them. */

import { parseSchemaText } from '../core/schema-text/parse-schema-text.ts';
import type { ValueFormat } from '../core/value-format.ts';
import type { ColumnsFrom, TypedPart } from './pipeline-config.ts';
import type { Values } from './values.ts';

export type Part = 'value' | 'key';

/** The part, or null where the rule does not have it. The options must have been checked. */
export function typedPart(values: Values, index: number, part: Part): TypedPart | null {
  const section = `tables[].${part}` as const;
  const get = <T>(key: string): T | undefined => values.get<T>(section, key, index);
  if (get('format') === undefined) return null;
  return {
    format: valueFormat(get, values.get<string>('tables[]', 'timeZone', index)!),
    prefix: part === 'key' ? get<string>('prefix')! : '',
    columns: columnsFrom(get('schema'), get<number>('inferRecords')!),
    subject: get<string>('subject')!,
  };
}

type Get = <T>(key: string) => T | undefined;

function valueFormat(get: Get, timeZone: string): ValueFormat {
  const format = get<ValueFormat['format']>('format')!;
  const base = {
    mode: get<ValueFormat['mode']>('mode')!,
    corruptRecordColumn: get<string>('corruptRecordColumn') ?? null,
    timeZone,
  };
  const numbers = {
    timestampUnit: get<'seconds' | 'millis' | 'micros' | 'nanos'>('timestampUnit')!,
    decimalRounding: get<'refuse' | 'halfUp'>('decimalRounding')!,
  };
  switch (format) {
    case 'json':
    case 'json-schema':
      return {
        format,
        ...base,
        ...numbers,
        compat: get<'strict' | 'spark'>('compat')!,
        unknownFields: unknownFields(get),
        caseInsensitive: get<boolean>('caseInsensitive')!,
        nullDocument: get<'row' | 'quarantine'>('nullDocument')!,
      };
    case 'csv':
      return {
        format,
        ...base,
        ...numbers,
        delimiter: get<string>('delimiter')!,
        quote: get<string>('quote')!,
        escape: get<string>('escape')!,
        nullValue: get<string>('nullValue') ?? '',
      };
    case 'avro':
      return {
        format,
        ...base,
        framing: get<'confluent' | 'plain' | 'singleObject'>('framing')!,
        writerSchema: jsonText(get('writerSchema')),
        readerSchema: jsonText(get('readerSchema')),
      };
    case 'protobuf':
      return { format, ...base, message: get<string>('message') ?? null };
  }
}

function unknownFields(get: Get): 'ignore' | 'quarantine' | { restColumn: string } {
  const rule = get<'ignore' | 'rest' | 'quarantine'>('unknownFields')!;
  return rule === 'rest' ? { restColumn: get<string>('restColumn')! } : rule;
}

function jsonText(schema: unknown): string | null {
  if (schema === undefined) return null;
  return typeof schema === 'string' ? schema : JSON.stringify(schema);
}

function columnsFrom(schema: unknown, records: number): ColumnsFrom {
  switch (schema) {
    case undefined:
      return { from: 'auto' };
    case 'table':
    case 'registry':
      return { from: schema };
    case 'infer':
      return { from: 'infer', records };
    default:
      return { from: 'given', struct: parseSchemaText(schema as string | object) };
  }
}
