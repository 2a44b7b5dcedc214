import type { TableRule, TypedPart } from '../config/pipeline-config.ts';
import type { StructType } from '../core/schema.ts';
import type { ValueFormat } from '../core/value-format.ts';
import { columnsOfSchema } from '../decode/columns-of-schema.ts';
import { SluiceError } from '../errors.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import type { TypedColumns } from './typed-layout.ts';

/**
 * The columns that a rule asks for, from where it says: its own schema, the registry, the table (null), or the first
 * records (null). `exists`: is the table there? `route`: what leads to it, where it is one of several. Throws
 * CONFIG_INVALID where nothing says what the columns are.
 */
export async function typedColumns(
  rule: TableRule,
  topic: string,
  table: string,
  exists: boolean,
  registry: SchemaRegistry,
  route = '',
): Promise<TypedColumns> {
  const latest = (part: TypedPart): Promise<StructType> =>
    fromRegistry(part, topic, route, registry, rule.formatVersion);
  const of = (part: TypedPart | null): Promise<StructType | null> =>
    part === null ? Promise.resolve(null) : partColumns(part, table, exists, latest);
  return { value: await of(rule.value), key: await of(rule.key) };
}

async function partColumns(
  part: TypedPart,
  table: string,
  exists: boolean,
  latest: (part: TypedPart) => Promise<StructType>,
): Promise<StructType | null> {
  const { columns } = part;
  switch (columns.from) {
    case 'given':
      return columns.struct;
    case 'infer':
      return null;
    case 'registry':
      return latest(part);
    default:
      if (exists) return null;
      if (columns.from === 'auto' && standsInRegistry(part.format)) return latest(part);
      throw new SluiceError(
        'CONFIG_INVALID',
        `table ${table} does not exist, and nothing says what its columns are: give \`schema\` (Spark DDL, or \`infer\`), or create the table`,
        { context: { table } },
      );
  }
}

async function fromRegistry(
  part: TypedPart,
  topic: string,
  route: string,
  registry: SchemaRegistry,
  formatVersion: number,
): Promise<StructType> {
  const subject = part.subject.replaceAll(/\$\{(topic|route)\}/g, (_, name) =>
    name === 'topic' ? topic : route,
  );
  const registered = await registry.latest(subject);
  return columnsOfSchema(registered, part.format, formatVersion);
}

/** Does the first bytes of such a value name a schema of the registry? */
export function standsInRegistry(format: ValueFormat): boolean {
  if (format.format === 'avro') return format.framing === 'confluent';
  return format.format === 'protobuf' || format.format === 'json-schema';
}
