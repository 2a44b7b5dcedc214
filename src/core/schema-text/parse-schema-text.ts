import { messageOf } from '../../errors.ts';
import { assignFieldIds } from '../field-ids.ts';
import { fieldPaths } from '../field-paths.ts';
import { parseJson64 } from '../json64.ts';
import type { StructType } from '../schema.ts';
import { parseDdl } from './ddl-parser.ts';
import { icebergStruct } from './iceberg-json.ts';
import { JsonNode } from './json-node.ts';
import { jsonSyntaxFault } from './json-syntax.ts';
import { placeAt, SCHEMA_LIMITS, schemaFault } from './schema-fault.ts';
import { sparkStruct } from './spark-json.ts';

/**
 * Reads a schema as people write it: Spark's DDL (`id BIGINT NOT NULL, tags ARRAY<STRING>`), Spark's StructType JSON,
 * or Iceberg's schema JSON, the last two also as an object. Types are Iceberg's (Iceberg docs, "Spark type to Iceberg
 * type": TIMESTAMP is timestamptz, TIMESTAMP_NTZ timestamp, BYTE and SHORT are int, CHAR and VARCHAR string). Field ids
 * are given anew from 1, in Iceberg's order; identifier fields are not kept.
 * Throws CONFIG_INVALID with line and column of the fault, what was expected, and the nearest name of a type.
 */
export function parseSchemaText(input: string | object): StructType {
  const struct = typeof input === 'string' ? structOfText(input) : structOfJson(JsonNode.root(input));
  checkPaths(struct);
  return assignFieldIds(struct);
}

function structOfText(text: string): StructType {
  if (text.length > SCHEMA_LIMITS.textLength)
    throw schemaFault(`a text of ${text.length} characters; at most ${SCHEMA_LIMITS.textLength} are taken`);
  if (/^\s*$/.test(text)) throw schemaFault('the text is empty; write columns as in: id BIGINT, name STRING');
  return /^\s*[{[]/.test(text) ? structOfJson(JsonNode.root(parsedJson(text), text)) : parseDdl(text);
}

function parsedJson(text: string): unknown {
  try {
    return parseJson64(text);
  } catch (error) {
    const fault = jsonSyntaxFault(text);
    // The other thing that JSON.parse throws at is a document nested deeper than the stack.
    if (fault === undefined)
      throw schemaFault(`the JSON cannot be read (${messageOf(error)}): is it nested too deep?`);
    const found = fault.at === text.length ? 'the end' : JSON.stringify(text.slice(fault.at, fault.at + 20));
    throw schemaFault(`this is no JSON: expected ${fault.expected}, found ${found}`, placeAt(text, fault.at));
  }
}

/** Spark's fields are `nullable`, Iceberg's are `required`; the names of types mean different things, so that nothing is guessed. */
function structOfJson(node: JsonNode): StructType {
  const kind = node.member('type');
  if (kind.value === undefined && !node.has('fields'))
    throw node.fault(
      'expected a schema as JSON, with `fields`; columns by their names are written as text: "id BIGINT, name STRING"',
    );
  if (kind.value !== undefined && kind.string() !== 'struct') throw kind.fault('expected "struct"');
  const [first] = node.member('fields').items();
  if (first === undefined) throw node.member('fields').fault('expected at least one field');
  if (first.has('nullable')) return sparkStruct(node);
  if (first.has('required')) return icebergStruct(node);
  throw first.fault(
    "expected a field with `nullable` (Spark's JSON) or with `id` and `required` (Iceberg's)",
  );
}

/** Two fields of one full name cannot be told apart: `a.b` in a struct and a column named `a.b`, or the same name twice. */
function checkPaths(struct: StructType): void {
  const seen = new Set<string>();
  let length = 0;
  for (const { path } of fieldPaths(struct)) {
    length += path.length;
    if (length > SCHEMA_LIMITS.pathLength)
      throw schemaFault('the full names of all columns are too long together; use shorter names');
    if (seen.has(path))
      throw schemaFault(`two columns have the name ${path.slice(0, 200)}; names are given once`);
    seen.add(path);
  }
}
