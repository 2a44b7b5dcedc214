import { type ColumnSink, createSink, type FlatReadVector } from './column-sink.ts';
import type { FileChunk } from './file-metadata.ts';
import type { FileColumn, FileField } from './file-schema.ts';
import { Levels } from './levels.ts';
import { PageCursor } from './page-cursor.ts';

/** Structs of a file: what a field holds where the struct is null has no meaning. */
export interface ReadStruct {
  readonly kind: 'struct';
  length: number;
  nullCount: number;
  nulls: Uint8Array;
  readonly names: readonly string[];
  /** By the names. */
  readonly fields: readonly ReadVector[];
  isNull(row: number): boolean;
}

/** Lists of a file: the elements of row i are rows [starts[i], starts[i + 1]) of `element`. */
export interface ReadList {
  readonly kind: 'list';
  length: number;
  nullCount: number;
  nulls: Uint8Array;
  starts: Uint32Array;
  readonly element: ReadVector;
  isNull(row: number): boolean;
}

/** Maps of a file: the entries of row i are rows [starts[i], starts[i + 1]) of `key` and `value`. */
export interface ReadMap {
  readonly kind: 'map';
  length: number;
  nullCount: number;
  nulls: Uint8Array;
  starts: Uint32Array;
  readonly key: ReadVector;
  readonly value: ReadVector;
  isNull(row: number): boolean;
}

export type NestedReadVector = ReadStruct | ReadList | ReadMap;
export type ReadVector = FlatReadVector | NestedReadVector;

/** Entries of a leaf in one chunk of rows: runs of levels are short, so a file could claim any number of them. */
const MAX_CHUNK_ENTRIES = 16 * 1024 * 1024;
const FIRST_ROWS = 1024;

/** Reads a struct, list or map, a chunk of rows at a time. All throw RangeError where the bytes are not what they should be. */
export class NestedSink {
  readonly vector: NestedReadVector;
  private readonly root: NodeReader;
  private readonly leaves: LeafEntries[];

  /** `columns` are those of the file. Throws RangeError for a nesting that is not read. */
  constructor(field: FileField, columns: readonly FileColumn[]) {
    this.leaves = Array.from({ length: field.columnCount }, (_, i) => {
      return new LeafEntries(columns[field.firstColumn + i]);
    });
    this.root = nodeReader(field, field.firstColumn, this.leaves);
    this.vector = this.root.vector as NestedReadVector;
  }

  /** Takes the chunks of a row group, one for each leaf, as bytes. */
  open(chunks: readonly FileChunk[], bytes: readonly Uint8Array[]): void {
    this.leaves.forEach((leaf, i) => {
      leaf.open(chunks[i], bytes[i]);
    });
  }

  /** Fills the vector with the next `rows` rows. */
  read(rows: number): void {
    for (const leaf of this.leaves) leaf.read(rows);
    this.root.assemble(rows);
  }
}

/** The entries of one leaf for the chunk of rows at hand: its levels, and a value or null for each that has a place for one. */
class LeafEntries {
  readonly levels = new Levels();
  readonly sink: ColumnSink;
  slotDefinition = 0;
  private readonly column: FileColumn;
  private pages: PageCursor | undefined;
  /** The levels of the page at hand, and the next entry in them. */
  private readonly page = new Levels();
  private at = 0;

  constructor(column: FileColumn) {
    this.column = column;
    this.sink = createSink(column, FIRST_ROWS);
  }

  open(chunk: FileChunk, bytes: Uint8Array): void {
    this.pages = new PageCursor(this.column, chunk, bytes, this.sink);
    this.page.length = 0;
    this.at = 0;
  }

  /** Takes whole rows: a row goes on until the next entry with the repetition level 0, in whichever page. */
  read(rows: number): void {
    this.sink.clear();
    this.levels.length = 0;
    for (let left = rows; ; ) {
      if (this.at === this.page.length) {
        if (this.pages!.isAtEnd) {
          if (left > 0) throw new RangeError('the pages end before the rows of their row group');
          return;
        }
        this.nextPage();
        continue;
      }
      const first = this.at;
      const { repetition, length } = this.page;
      let end = first;
      while (end < length && (repetition[end] !== 0 || left > 0)) {
        if (repetition[end] === 0) left--;
        end++;
      }
      if (end === first) return;
      if (this.levels.length === 0 && repetition[first] !== 0)
        throw new RangeError('a column chunk begins within a row');
      this.takeEntries(first, end);
      this.at = end;
    }
  }

  private takeEntries(from: number, until: number): void {
    const { levels, page, sink } = this;
    const count = until - from;
    if (levels.length + count > MAX_CHUNK_ENTRIES)
      throw new RangeError(`more than ${MAX_CHUNK_ENTRIES} entries`);
    levels.reserve(levels.length + count);
    levels.repetition.set(page.repetition.subarray(from, until), levels.length);
    levels.definition.set(page.definition.subarray(from, until), levels.length);
    levels.length += count;
    const { definition } = page;
    const present = this.column.maxDefinitionLevel;
    for (let i = from; i < until; ) {
      const level = definition[i];
      const start = i;
      while (i < until && definition[i] === level) i++;
      if (level === present) this.pages!.readValues(i - start);
      else if (level >= this.slotDefinition) sink.appendNulls(i - start);
    }
  }

  private nextPage(): void {
    const { page } = this;
    const pages = this.pages!;
    pages.next();
    const entries = pages.entriesLeft;
    pages.entriesLeft = 0;
    if (entries > MAX_CHUNK_ENTRIES) throw new RangeError(`a page of ${entries} entries`);
    page.reserve(entries);
    const { maxRepetitionLevel, maxDefinitionLevel } = this.column;
    for (const [decoder, levels, most] of [
      [pages.repetitions, page.repetition, maxRepetitionLevel],
      [pages.definitions, page.definition, maxDefinitionLevel],
    ] as const) {
      if (decoder === undefined) levels.fill(0, 0, entries);
      for (let i = 0; decoder !== undefined && i < entries; ) {
        const run = decoder.takeRun(entries - i);
        if (decoder.value > most) throw new RangeError(`a level of ${decoder.value}, at most ${most}`);
        levels.fill(decoder.value, i, i + run);
        i += run;
      }
    }
    page.length = entries;
    this.at = 0;
  }
}

/** Makes the vector of a node from the levels of the first leaf below it. */
interface NodeReader {
  readonly vector: ReadVector;
  /** Of the entries at hand; the vector must have `length` rows then. */
  assemble(length: number): void;
}

function nodeReader(field: FileField, firstColumn: number, leaves: readonly LeafEntries[]): NodeReader {
  const leaf = leaves[field.firstColumn - firstColumn];
  if (field.kind === 'leaf') {
    leaf.slotDefinition = field.slotDefinition;
    return new LeafReader(leaf);
  }
  if (field.kind === 'other' || field.columnCount === 0)
    throw new RangeError(`a nesting that is not read here, at ${field.name}`);
  const children = field.children.map((child) => nodeReader(child, firstColumn, leaves));
  return field.kind === 'struct'
    ? new StructReader(field, leaf, children)
    : new ListReader(field, leaf, children);
}

class LeafReader implements NodeReader {
  readonly vector: FlatReadVector;

  constructor(leaf: LeafEntries) {
    this.vector = leaf.sink.vector;
  }

  assemble(length: number): void {
    checkLength(this.vector.length, length);
  }
}

class StructReader implements NodeReader {
  readonly vector: ReadStruct;
  private readonly field: FileField;
  private readonly leaf: LeafEntries;
  private readonly children: readonly NodeReader[];

  constructor(field: FileField, leaf: LeafEntries, children: readonly NodeReader[]) {
    this.field = field;
    this.leaf = leaf;
    this.children = children;
    this.vector = {
      kind: 'struct',
      ...emptyMarks(),
      names: field.children.map((child) => child.name),
      fields: children.map((child) => child.vector),
      isNull,
    };
  }

  assemble(length: number): void {
    const { vector, field } = this;
    const { repetition, definition, length: entries } = this.leaf.levels;
    resetMarks(vector, length);
    let row = 0;
    for (let i = 0; i < entries; i++) {
      if (repetition[i] > field.slotRepetition || definition[i] < field.slotDefinition) continue;
      if (row === length) throw new RangeError('more places than rows');
      if (definition[i] < field.ownDefinition) markNull(vector, row);
      row++;
    }
    checkLength(row, length);
    for (const child of this.children) child.assemble(length);
  }
}

class ListReader implements NodeReader {
  readonly vector: ReadList | ReadMap;
  private readonly field: FileField;
  private readonly leaf: LeafEntries;
  private readonly children: readonly NodeReader[];

  constructor(field: FileField, leaf: LeafEntries, children: readonly NodeReader[]) {
    this.field = field;
    this.leaf = leaf;
    this.children = children;
    const marks = { ...emptyMarks(), starts: new Uint32Array(1), isNull };
    const [first, second] = children.map((child) => child.vector);
    this.vector =
      field.kind === 'map'
        ? { kind: 'map', ...marks, key: first, value: second }
        : { kind: 'list', ...marks, element: first };
  }

  assemble(length: number): void {
    const { vector, field } = this;
    const { repetition, definition, length: entries } = this.leaf.levels;
    const [{ slotRepetition, slotDefinition }] = field.children;
    resetMarks(vector, length);
    if (vector.starts.length < length + 1) vector.starts = new Uint32Array(length + 1);
    const { starts } = vector;
    let row = 0;
    let elements = 0;
    let isOpen = false;
    for (let i = 0; i < entries; i++) {
      if (repetition[i] <= field.slotRepetition && definition[i] >= field.slotDefinition) {
        if (row === length) throw new RangeError('more places than rows');
        starts[row] = elements;
        if (definition[i] < field.ownDefinition) markNull(vector, row);
        isOpen = definition[i] >= slotDefinition;
        row++;
      }
      if (repetition[i] <= slotRepetition && definition[i] >= slotDefinition) {
        if (!isOpen) throw new RangeError('an entry that goes on with a list that is null or empty');
        elements++;
      }
    }
    checkLength(row, length);
    starts[length] = elements;
    for (const child of this.children) child.assemble(elements);
  }
}

type Marks = Pick<ReadStruct, 'length' | 'nullCount' | 'nulls'>;

function emptyMarks(): Marks {
  return { length: 0, nullCount: 0, nulls: new Uint8Array(0) };
}

function resetMarks(marks: Marks, length: number): void {
  if (marks.nulls.length < length) marks.nulls = new Uint8Array(Math.max(length, 2 * marks.nulls.length));
  else marks.nulls.fill(0, 0, length);
  marks.length = length;
  marks.nullCount = 0;
}

function markNull(marks: Marks, row: number): void {
  marks.nulls[row] = 1;
  marks.nullCount++;
}

function isNull(this: Marks, row: number): boolean {
  return this.nulls[row] === 1;
}

/** The leaves of one field must tell the same structure. */
function checkLength(found: number, expected: number): void {
  if (found !== expected) throw new RangeError(`a column of ${found} places where there are ${expected}`);
}
