/** Partition specs: built from texts of a pipeline file, their types, and the paths of partitions. */
import type { PartitionValue } from '../core/data-file.ts';
import type { IcebergType, NestedField, PrimitiveType, Schema, StructType } from '../core/schema.ts';
import { walkFields } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { FIRST_PARTITION_FIELD_ID, type PartitionField, type PartitionSpec } from './metadata.ts';
import {
  bindTransform,
  humanText,
  parseTransform,
  type Transform,
  transformAccepts,
  transformResultType,
  transformText,
} from './transforms.ts';

export const UNPARTITIONED: PartitionSpec = { specId: 0, fields: [] };

function refuse(text: string, message: string): SluiceError {
  return new SluiceError('CONFIG_INVALID', `partitionBy "${text}": ${message}`, {
    context: { partitionBy: text },
  });
}

const NAME_SUFFIX: Record<string, string> = {
  year: 'year',
  month: 'month',
  day: 'day',
  hour: 'hour',
  bucket: 'bucket',
  truncate: 'trunc',
};

/**
 * A spec of texts such as `dt`, `hours(kafka_timestamp)`, `days(x)`, `months(x)`, `years(x)`, `bucket(16, key)`,
 * `truncate(4, topic)`, `identity(dt)`. Field ids count from 1000; names are those that Java and Spark give
 * (`x_hour`, `key_bucket`, `topic_trunc`). A plain text is a column, whatever its name. Throws CONFIG_INVALID.
 */
export function buildPartitionSpec(texts: readonly string[], schema: Schema, specId = 0): PartitionSpec {
  const fields: PartitionField[] = [];
  for (const [i, text] of texts.entries()) {
    const { transform, column } = parsePartitionText(text);
    const source = findColumn(schema, column);
    if (source === undefined) throw refuse(text, `the table has no column "${column}"`);
    if (!transformAccepts(transform, source.type)) {
      const type = typeof source.type === 'string' ? source.type : source.type.type;
      throw refuse(text, `${transformText(transform)} does not take column "${column}" of type ${type}`);
    }
    const suffix = NAME_SUFFIX[transform.kind];
    const name = suffix === undefined ? column : `${column}_${suffix}`;
    if (suffix !== undefined && findColumn(schema, name) !== undefined)
      throw refuse(text, `its name "${name}" is that of a column`);
    if (fields.some((f) => f.name === name))
      throw refuse(text, `another partition field has the name "${name}"`);
    fields.push({
      sourceId: source.id,
      fieldId: FIRST_PARTITION_FIELD_ID + i,
      name,
      transform: transformText(transform),
    });
  }
  return { specId, fields };
}

const FUNCTIONS: Record<string, Transform['kind']> = {
  identity: 'identity',
  year: 'year',
  years: 'year',
  month: 'month',
  months: 'month',
  day: 'day',
  days: 'day',
  hour: 'hour',
  hours: 'hour',
  bucket: 'bucket',
  truncate: 'truncate',
};

/** The transform and the column of a text; a bare name is the column itself. Throws CONFIG_INVALID. */
export function parsePartitionText(text: string): { transform: Transform; column: string } {
  const call = /^\s*([A-Za-z]+)\s*\((.*)\)\s*$/.exec(text);
  if (call === null) {
    const column = text.trim();
    if (column === '' || /[()]/.test(column))
      throw refuse(text, 'expected a column, or a transform such as days(ts) or bucket(16, id)');
    return { transform: { kind: 'identity' }, column };
  }
  const name = call[1].toLowerCase();
  const kind = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (kind === undefined)
    throw refuse(
      text,
      `unknown transform "${call[1]}"; known are identity, years, months, days, hours, bucket(N, x), truncate(W, x)`,
    );
  const args = call[2].split(',').map((a) => a.trim());
  if (kind !== 'bucket' && kind !== 'truncate') {
    if (args.length !== 1 || args[0] === '') throw refuse(text, `${name} takes one column`);
    return { transform: { kind } as Transform, column: args[0] };
  }
  const [parameter, column] = args.length === 2 && !/^\d+$/.test(args[0]) ? [args[1], args[0]] : args;
  const transform = parseTransform(`${kind}[${parameter}]`);
  if (args.length !== 2 || column === '' || transform.kind === 'unknown')
    throw refuse(text, `expected ${kind}(N, column) with N from 1 to 2147483647`);
  return { transform, column };
}

/** A column by its name, dots leading into structs; lists and maps hold no partition sources. */
export function findColumn(schema: StructType, path: string): NestedField | undefined {
  const direct = schema.fields.find((f) => f.name === path);
  if (direct !== undefined) return direct;
  for (const field of schema.fields) {
    if (typeof field.type === 'string' || field.type.type !== 'struct' || !path.startsWith(`${field.name}.`))
      continue;
    const nested = findColumn(field.type, path.slice(field.name.length + 1));
    if (nested !== undefined) return nested;
  }
  return undefined;
}

/** The type of a column by its id, in any of the schemas (the newest first): a spec may outlive its column. */
export function columnType(schemas: readonly StructType[], id: number): IcebergType | undefined {
  for (const schema of schemas) {
    for (const field of walkFields(schema)) if (field.id === id) return field.type;
  }
  return undefined;
}

/** One field of a spec with its transform and the type of its values. */
export interface BoundPartitionField {
  readonly field: PartitionField;
  readonly transform: Transform;
  /** Undefined where the source column is in no schema any more. */
  readonly sourceType: IcebergType | undefined;
  readonly resultType: PrimitiveType;
}

/** `schemas`: those of the table, the current one first. */
export function bindPartitionSpec(
  spec: PartitionSpec,
  schemas: readonly StructType[],
): BoundPartitionField[] {
  return spec.fields.map((field) => {
    const transform = parseTransform(field.transform);
    const sourceType = columnType(schemas, field.sourceId);
    return { field, transform, sourceType, resultType: resultTypeOf(transform, sourceType) };
  });
}

function resultTypeOf(transform: Transform, sourceType: IcebergType | undefined): PrimitiveType {
  const known = sourceType !== undefined && transformAccepts({ kind: 'identity' }, sourceType);
  // The values of a void field are all null, whatever its source was.
  if (transform.kind === 'void' && !known) return 'string';
  // Java reads a field whose source is gone as a string; see `knowsPartitionTypes`.
  return transformResultType(transform, sourceType ?? 'string');
}

/**
 * Are the types of all partition values certain? Not where a transform is of a newer writer, and not where the values
 * have the type of a column that no schema tells of any more: then manifests of the spec are read, and never written.
 */
export function knowsPartitionTypes(bound: readonly BoundPartitionField[]): boolean {
  return bound.every(({ field, transform, sourceType }) => {
    if (transform.kind === 'void') return true;
    // A transform of several columns, by whatever name.
    if (transform.kind === 'unknown' || field.sourceId === -1) return false;
    if (transform.kind === 'identity' || transform.kind === 'truncate')
      return sourceType !== undefined && transformAccepts(transform, sourceType);
    return true;
  });
}

/**
 * Partition values of a row, given the values of the source columns in the order of the spec's fields. Throws
 * UNSUPPORTED for a spec that nobody may write with.
 */
export function partitionFunctions(
  bound: readonly BoundPartitionField[],
): ((value: PartitionValue) => PartitionValue)[] {
  return bound.map(({ transform, sourceType, field }) => {
    // What is left of a field that was removed from a spec of version 1, its column perhaps too.
    if (transform.kind === 'void') return () => null;
    if (transform.kind === 'unknown' || sourceType === undefined) {
      throw new SluiceError(
        'UNSUPPORTED',
        `partition field ${field.name}: rows cannot be written by the transform ${field.transform}`,
      );
    }
    return bindTransform(transform, sourceType);
  });
}

/** `dt=2024-05-01/hour=13`, URL-encoded as Java's `PartitionSpec.partitionToPath`; empty for an unpartitioned table. */
export function partitionPath(
  bound: readonly BoundPartitionField[],
  values: readonly PartitionValue[],
): string {
  return bound
    .map((b, i) => `${urlEncode(b.field.name)}=${urlEncode(humanText(b.transform, b.resultType, values[i]))}`)
    .join('/');
}

/** Java's URLEncoder in UTF-8: letters, digits, `.`, `-`, `*`, `_` stay, a space becomes `+`, a lone surrogate `?`. */
export function urlEncode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))
    .replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** Do two specs partition alike: same sources, transforms and names in the same order? */
export function samePartitioning(a: PartitionSpec, b: PartitionSpec): boolean {
  return (
    a.fields.length === b.fields.length &&
    a.fields.every((f, i) => {
      const g = b.fields[i];
      return f.sourceId === g.sourceId && f.transform === g.transform && f.name === g.name;
    })
  );
}
