import type { TableRule, TypedPart } from '../config/pipeline-config.ts';
import type { StructType } from '../core/schema.ts';
import type { ValueFormat } from '../core/value-format.ts';
import { columnsOfSchema } from '../decode/columns-of-schema.ts';
import { SluiceError } from '../errors.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import type { TypedColumns } from './typed-layout.ts';

/**
 * The columns that a rule asks for, from where it says: its own schema, the registry, the table (null), or the first
 * records (null). `exists`: is the table there? Throws CONFIG_INVALID where nothing says what the columns are.
 */
export async function typedColumns(
  rule: TableRule,
  topic: string,
  table: string,
  exists: boolean,
  registry: SchemaRegistry,
): Promise<TypedColumns> {
  const of = (part: TypedPart | null): Promise<StructType | null> =>
    part === null ? Promise.resolve(null) : partColumns(part, topic, table, exists, registry);
  return { value: await of(rule.value), key: await of(rule.key) };
}

async function partColumns(
  part: TypedPart,
  topic: string,
  table: string,
  exists: boolean,
  registry: SchemaRegistry,
): Promise<StructType | null> {
  const { columns } = part;
  switch (columns.from) {
    case 'given':
      return columns.struct;
    case 'infer':
      return null;
    case 'registry':
      return fromRegistry(part, topic, registry);
    default:
      if (exists) return null;
      if (columns.from === 'auto' && standsInRegistry(part.format))
        return fromRegistry(part, topic, registry);
      throw new SluiceError(
        'CONFIG_INVALID',
        `table ${table} does not exist, and nothing says what its columns are: give \`schema\` (Spark DDL, or \`infer\`), or create the table`,
        { context: { table } },
      );
  }
}

async function fromRegistry(part: TypedPart, topic: string, registry: SchemaRegistry): Promise<StructType> {
  const registered = await registry.latest(part.subject.replaceAll('${topic}', () => topic));
  return columnsOfSchema(registered, part.format);
}

/** Does the first bytes of such a value name a schema of the registry? */
export function standsInRegistry(format: ValueFormat): boolean {
  if (format.format === 'avro') return format.framing === 'confluent';
  return format.format === 'protobuf' || format.format === 'json-schema';
}
