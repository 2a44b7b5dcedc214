/** Checks of the columns that a typed rule itself names: what no table and no decoder can take is known from the file alone. */
import type { IcebergType, NestedField } from '../core/schema.ts';
import type { Report } from './fault.ts';
import { type Part, typedPart } from './formats.ts';
import type { TypedPart } from './pipeline-config.ts';
import type { Values } from './values.ts';

/** What a key of an object can be decoded into. */
const KEYS_OF_OBJECTS: readonly IcebergType[] = ['string', 'int', 'long', 'date'];

/** Adds columns of rule `index` that meet in one name, and types that the format has nothing for. */
export function checkColumns(values: Values, index: number, fault: Report): void {
  const provenance = new Set(values.get<string[]>('tables[]', 'provenance', index) ?? []);
  const names = new Set<string>();
  for (const part of ['value', 'key'] as const) {
    const options = partOf(values, index, part);
    if (options?.columns.from !== 'given') continue;
    const wrong = (message: string): void =>
      fault('WRONG_VALUE', values.path(`tables[].${part}`, 'schema', index), message);
    for (const field of options.columns.struct.fields) {
      const name = `${options.prefix}${field.name}`;
      if (provenance.has(name))
        wrong(
          `column ${name} has the name of a column of provenance; leave that one out of \`provenance\`, or this one out of the schema`,
        );
      else if (names.has(name)) wrong(`the value has a column ${name} too; give the key another \`prefix\``);
      names.add(name);
      checkType(options, field, name, wrong);
    }
  }
}

/** Null where the rule has no such part, and where its schema cannot be read, which is a fault of its own. */
function partOf(values: Values, index: number, part: Part): TypedPart | null {
  try {
    return typedPart(values, index, part);
  } catch {
    return null;
  }
}

function checkType(
  { format: { format } }: TypedPart,
  { type }: Pick<NestedField, 'type'>,
  name: string,
  wrong: (message: string) => void,
): void {
  if (format === 'csv' && typeof type !== 'string')
    wrong(
      `column ${name}: a field of CSV holds no ${type.type}; give it a plain type, or use another format`,
    );
  if (format !== 'json' && format !== 'json-schema') return;
  const key = foreignKey(type);
  if (key !== undefined)
    wrong(`column ${name}: keys of a JSON object can be ${KEYS_OF_OBJECTS.join(', ')}, found ${key}`);
}

/** The type of the first map's keys that no key of an object can be. */
function foreignKey(type: IcebergType): string | undefined {
  if (typeof type === 'string') return undefined;
  if (type.type === 'list') return foreignKey(type.element);
  if (type.type === 'map')
    return KEYS_OF_OBJECTS.includes(type.key)
      ? foreignKey(type.value)
      : typeof type.key === 'string'
        ? type.key
        : type.key.type;
  for (const field of type.fields) {
    const found = foreignKey(field.type);
    if (found !== undefined) return found;
  }
  return undefined;
}
