import { CONVERTED_TYPE, REPETITION } from './format.ts';
import type { ThriftStruct } from './thrift-reader.ts';
import { count, isStruct, text } from './thrift-values.ts';

/** A leaf of the schema of a file that anyone may have written. */
export interface FileColumn {
  readonly path: readonly string[];
  /** That of the leaf itself; undefined where the file bears none. */
  readonly fieldId: number | undefined;
  readonly physicalType: number;
  readonly width: number;
  readonly convertedType: number | undefined;
  readonly isString: boolean;
  readonly isDecimal: boolean;
  readonly maxDefinitionLevel: number;
  readonly maxRepetitionLevel: number;
}

/** A node of the schema: a leaf, or a struct, list or map without the groups that Parquet puts between. */
export interface FileField {
  readonly name: string;
  readonly fieldId: number | undefined;
  /** `other`: a form of nesting that is not read here (repeated fields without annotation, lists of two levels). */
  readonly kind: 'leaf' | 'struct' | 'list' | 'map' | 'other';
  /** The fields of a struct, the element of a list, the key and the value of a map. */
  readonly children: readonly FileField[];
  /** An entry has a place for this node where its repetition level is at most, its definition level at least this. */
  readonly slotRepetition: number;
  readonly slotDefinition: number;
  /** Definition level at which the node is not null. */
  readonly ownDefinition: number;
  /** The first of its leaves, by its place among the columns of the file; the others follow it. */
  readonly firstColumn: number;
  readonly columnCount: number;
}

const MAX_SCHEMA_DEPTH = 100;

/** The flattened schema of a footer. Throws RangeError where it is no tree. */
export function readSchema(elements: readonly ThriftStruct[]): {
  columns: FileColumn[];
  fields: readonly FileField[];
} {
  const reader = new SchemaReader(elements);
  const root = reader.node([], { repetition: 0, definition: 0, slotDefinition: 0 }, 0);
  if (reader.next !== elements.length) throw new RangeError('the schema is no tree');
  return { columns: reader.columns, fields: root.children };
}

interface Levels {
  readonly repetition: number;
  readonly definition: number;
  /** Definition level from which an entry has a place for the node. */
  readonly slotDefinition: number;
}

class SchemaReader {
  readonly columns: FileColumn[] = [];
  next = 0;
  private readonly elements: readonly ThriftStruct[];

  constructor(elements: readonly ThriftStruct[]) {
    this.elements = elements;
  }

  node(parents: readonly string[], above: Levels, depth: number): FileField & { repeated: boolean } {
    const element = this.elements[this.next++];
    if (element === undefined || depth > MAX_SCHEMA_DEPTH) throw new RangeError('the schema is no tree');
    const isRoot = depth === 0;
    const name = element[4] instanceof Uint8Array ? text(element[4]) : '';
    const path = isRoot ? [] : [...parents, name];
    const repetition = isRoot ? REPETITION.REQUIRED : count(element[3], 'repetition');
    const repeated = repetition === REPETITION.REPEATED;
    const definition = above.definition + (repetition === REPETITION.REQUIRED ? 0 : 1);
    const own: Levels = {
      repetition: above.repetition + (repeated ? 1 : 0),
      definition,
      slotDefinition: repeated ? definition : above.slotDefinition,
    };
    const firstColumn = this.columns.length;
    const children: Array<FileField & { repeated: boolean }> = [];
    if (element[1] === undefined) {
      const childCount = count(element[5] ?? 0, 'children');
      for (let i = 0; i < childCount; i++) children.push(this.node(path, own, depth + 1));
    } else {
      this.columns.push(leafColumn(element, path, own));
    }
    return {
      name,
      fieldId: typeof element[9] === 'number' ? element[9] : undefined,
      ...this.shape(element, children),
      slotRepetition: own.repetition,
      slotDefinition: own.slotDefinition,
      ownDefinition: own.definition,
      firstColumn,
      columnCount: this.columns.length - firstColumn,
      repeated,
    };
  }

  /** What an element and its children are: lists and maps without the repeated group in the middle. */
  private shape(
    element: ThriftStruct,
    children: ReadonlyArray<FileField & { repeated: boolean }>,
  ): Pick<FileField, 'kind' | 'children'> {
    if (element[1] !== undefined) return { kind: 'leaf', children };
    const logical = isStruct(element[10]) ? element[10] : {};
    const isList = logical[3] !== undefined || element[6] === CONVERTED_TYPE.LIST;
    const isMap = logical[2] !== undefined || element[6] === CONVERTED_TYPE.MAP;
    if (!isList && !isMap) {
      const known = children.every((child) => !child.repeated && child.kind !== 'other');
      return { kind: known ? 'struct' : 'other', children };
    }
    const [middle] = children;
    const wanted = isList ? 1 : 2;
    const known =
      children.length === 1 &&
      middle.repeated &&
      middle.kind === 'struct' &&
      middle.children.length === wanted;
    return known ? { kind: isList ? 'list' : 'map', children: middle.children } : { kind: 'other', children };
  }
}

function leafColumn(element: ThriftStruct, path: string[], levels: Levels): FileColumn {
  const logical = isStruct(element[10]) ? element[10] : {};
  const convertedType = typeof element[6] === 'number' ? element[6] : undefined;
  return {
    path,
    fieldId: typeof element[9] === 'number' ? element[9] : undefined,
    physicalType: count(element[1], 'type'),
    width: typeof element[2] === 'number' ? element[2] : 0,
    convertedType,
    isString:
      logical[1] !== undefined || logical[4] !== undefined || convertedType === 0 || convertedType === 4,
    isDecimal: logical[5] !== undefined || convertedType === 5,
    maxDefinitionLevel: levels.definition,
    maxRepetitionLevel: levels.repetition,
  };
}
