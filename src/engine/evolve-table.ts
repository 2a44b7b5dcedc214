import { type ColumnSteps, optionalColumn } from '../core/column-path.ts';
import { type Schema, type StructType, walkFields } from '../core/schema.ts';
import {
  type Evolution,
  type EvolutionContext,
  evolveSchema,
  type RefusedChange,
  type SchemaChange,
} from '../core/schema-evolution.ts';
import type { EvolveRule } from '../core/value-format.ts';
import { isSluiceError } from '../errors.ts';
import type { Catalog, LoadedTable } from '../iceberg/catalog.ts';
import { currentSchema, type TableMetadata } from '../iceberg/metadata.ts';

/** Columns at every level together: names from data cannot make a table grow without bound. */
const MAX_COLUMNS = 1000;
/** Times that another writer may change the schema first. */
const MAX_ATTEMPTS = 10;

/** What records ask of a table. */
export interface WantedSchema {
  /**
   * `inferred`: from documents, where a number or a text may stand for a value of another type. `caseInsensitive`: names
   * that differ only in case are the same.
   */
  structs: { struct: StructType; inferred: boolean; caseInsensitive: boolean }[];
  /** Columns that a record has no value for. */
  optional: ColumnSteps[];
}

export interface EvolvedTable {
  table: LoadedTable;
  changes: SchemaChange[];
  refused: RefusedChange[];
}

/**
 * Gives a table what records ask for, as far as the rule allows: one change of the schema by compare-and-set, made anew
 * on what another writer made of it meanwhile. Nothing is committed where nothing changes. The data that needs the
 * columns is written afterwards. `accept` sees the schema before it is committed, and throws where the table is of no use
 * with it either: then nothing was changed. Throws what the catalog throws; after a change that may or may not have been applied the
 * table is loaded again and asked.
 */
export async function evolveTable(
  catalog: Catalog,
  start: LoadedTable,
  wanted: WantedSchema,
  rule: EvolveRule,
  accept: (schema: Schema, metadata: TableMetadata) => void = () => undefined,
): Promise<EvolvedTable> {
  let table = start;
  const made: SchemaChange[] = [];
  for (let attempt = 1; ; attempt++) {
    const { metadata } = table;
    const evolved = evolve(currentSchema(metadata), wanted, {
      rule,
      lastColumnId: metadata.lastColumnId,
      formatVersion: metadata.formatVersion,
      taken: metadata.partitionSpecs.flatMap((spec) => spec.fields.map((field) => field.name)),
    });
    if (evolved.changes.length === 0) return { table, changes: made, refused: evolved.refused };
    accept(evolved.schema, metadata);
    const schemaId = Math.max(...metadata.schemas.map((s) => s.schemaId)) + 1;
    try {
      const committed = await catalog.commitTable(
        table,
        [
          { type: 'assert-table-uuid', uuid: metadata.tableUuid },
          { type: 'assert-current-schema-id', currentSchemaId: metadata.currentSchemaId },
          { type: 'assert-last-assigned-field-id', lastAssignedFieldId: metadata.lastColumnId },
        ],
        [
          { action: 'add-schema', schema: { ...evolved.schema, schemaId } },
          { action: 'set-current-schema', schemaId: -1 },
        ],
      );
      return { table: committed, changes: evolved.changes, refused: evolved.refused };
    } catch (error) {
      const again = isSluiceError(error, 'COMMIT_CONFLICT') || isSluiceError(error, 'COMMIT_UNKNOWN');
      if (!again || attempt === MAX_ATTEMPTS) throw error;
      const now = await catalog.loadTable(table.identifier);
      if (now === undefined || now.metadata.tableUuid !== metadata.tableUuid) throw error;
      // Ours, where it was applied after all: then nothing is left to change, and it is told as made.
      if (isSluiceError(error, 'COMMIT_UNKNOWN')) made.push(...evolved.changes);
      table = now;
    }
  }
}

function evolve(
  from: Schema,
  wanted: WantedSchema,
  first: Omit<EvolutionContext, 'inferred' | 'caseInsensitive'>,
): Omit<Evolution, 'lastColumnId'> {
  let schema = from;
  let { lastColumnId } = first;
  const changes: SchemaChange[] = [];
  const refused: RefusedChange[] = [];
  const optional = wanted.optional.map((steps) => optionalColumn(from, steps)).filter((s) => s !== undefined);
  const exactly = { inferred: false, caseInsensitive: false };
  const structs = [...wanted.structs, ...optional.map((struct) => ({ struct, ...exactly }))];
  for (const { struct, inferred, caseInsensitive } of structs) {
    const next = evolveSchema(schema, struct, { ...first, lastColumnId, inferred, caseInsensitive });
    if (next.changes.length > 0 && columnCount(next.schema) > MAX_COLUMNS) {
      const why = `the table would have more than ${MAX_COLUMNS} columns`;
      refused.push(
        ...next.changes.map(
          ({ path, from, to }): RefusedChange => ({ kind: 'newColumn', path, from, to, why }),
        ),
      );
      continue;
    }
    schema = next.schema;
    lastColumnId = next.lastColumnId;
    changes.push(...next.changes);
    refused.push(...next.refused);
  }
  return { schema, changes, refused };
}

function columnCount(schema: Schema): number {
  let count = 0;
  for (const _ of walkFields(schema)) count++;
  return count;
}
