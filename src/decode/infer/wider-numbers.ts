import type { IcebergType, ListType, MapType, NestedField, StructType } from '../../core/schema.ts';
import { parseDecimal } from '../../core/schema.ts';
import { scaledInteger } from '../json/number-values.ts';

export interface WiderNumbersOptions {
  /** Digits behind the point that a decimal does not have: the number fits none, or is rounded. */
  rounding: 'refuse' | 'halfUp';
  caseInsensitive: boolean;
}

/** Iceberg's most digits of a decimal. */
const MAX_PRECISION = 38;
/** Larger documents are not looked at: all of one is held as objects. */
const MAX_BYTES = 1024 * 1024;
const MAX_FLOAT = 3.4028234663852886e38;

/** A number of a document, as it is written. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A place of a schema at or below which a column could be wider. */
type Place =
  | { kind: 'decimal'; precision: number; scale: number; needed: number }
  | { kind: 'int' | 'float'; needed: boolean }
  | { kind: 'struct'; fields: { field: NestedField; place: Place }[] }
  | { kind: 'list'; type: ListType; element: Place }
  | { kind: 'map'; type: MapType; value: Place };

/**
 * Finds what numbers of a schema would have to be for documents that do not fit it: a long, a double, a longer decimal of the
 * same scale. What other types stand at their places in other documents makes no difference. To be fed with documents whose numbers are out of range.
 */
export class WiderNumbers {
  private readonly options: WiderNumbersOptions;
  private readonly root: Place | null;

  constructor(columns: readonly NestedField[], options: WiderNumbersOptions) {
    this.options = options;
    this.root = placeOf({ type: 'struct', fields: [...columns] });
  }

  addJson(bytes: Uint8Array): void {
    if (this.root === null || bytes.length > MAX_BYTES) return;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    let document: unknown;
    try {
      document = JSON.parse(text, numbersAsTexts);
    } catch {
      // What is no JSON has no numbers out of range.
      return;
    }
    this.visit(this.root, document);
  }

  /** The columns that would have to be wider, in structs with nothing else; null where there is none. */
  result(): StructType | null {
    return this.root === null ? null : ((widened(this.root) as StructType | undefined) ?? null);
  }

  private visit(place: Place, value: unknown): void {
    switch (place.kind) {
      case 'decimal':
        if (value instanceof NumberText) this.fitDecimal(place, value.text);
        return;
      case 'int':
        if (value instanceof NumberText) place.needed ||= needsLong(value.text);
        return;
      case 'float':
        if (value instanceof NumberText) place.needed ||= needsDouble(value.text);
        return;
      case 'list':
        if (Array.isArray(value)) for (const element of value) this.visit(place.element, element);
        return;
      case 'map':
        if (isObject(value)) for (const inner of Object.values(value)) this.visit(place.value, inner);
        return;
      default:
        if (isObject(value)) this.visitFields(place.fields, value);
    }
  }

  private visitFields(fields: { field: NestedField; place: Place }[], value: Record<string, unknown>): void {
    const folded = this.options.caseInsensitive
      ? new Map(Object.entries(value).map(([name, inner]) => [name.toLowerCase(), inner]))
      : null;
    for (const { field, place } of fields) {
      if (folded !== null) this.visit(place, folded.get(field.name.toLowerCase()));
      else if (Object.hasOwn(value, field.name)) this.visit(place, value[field.name]);
    }
  }

  private fitDecimal(place: Extract<Place, { kind: 'decimal' }>, text: string): void {
    const unscaled = scaledInteger(text, place.scale, MAX_PRECISION, this.options.rounding);
    if (typeof unscaled !== 'bigint') return;
    const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
    place.needed = Math.max(place.needed, digits);
  }
}

function placeOf(type: IcebergType): Place | null {
  if (typeof type === 'string') {
    if (type === 'int' || type === 'float') return { kind: type, needed: false };
    const decimal = parseDecimal(type);
    return decimal === undefined ? null : { kind: 'decimal', ...decimal, needed: decimal.precision };
  }
  if (type.type === 'list') {
    const element = placeOf(type.element);
    return element === null ? null : { kind: 'list', type, element };
  }
  if (type.type === 'map') {
    const value = placeOf(type.value);
    return value === null ? null : { kind: 'map', type, value };
  }
  const fields = type.fields.flatMap((field) => {
    const place = placeOf(field.type);
    return place === null ? [] : [{ field, place }];
  });
  return fields.length === 0 ? null : { kind: 'struct', fields };
}

/** The type that is needed; undefined where the present one does. */
function widened(place: Place): IcebergType | undefined {
  switch (place.kind) {
    case 'decimal':
      return place.needed > place.precision ? `decimal(${place.needed}, ${place.scale})` : undefined;
    case 'int':
      return place.needed ? 'long' : undefined;
    case 'float':
      return place.needed ? 'double' : undefined;
    case 'list': {
      const element = widened(place.element);
      return element === undefined ? undefined : { ...place.type, element };
    }
    case 'map': {
      const value = widened(place.value);
      return value === undefined ? undefined : { ...place.type, value };
    }
    default: {
      const fields = place.fields.flatMap(({ field, place: inner }): NestedField[] => {
        const type = widened(inner);
        return type === undefined ? [] : [{ ...field, type }];
      });
      return fields.length === 0 ? undefined : { type: 'struct', fields };
    }
  }
}

/** A whole number beyond 32 bits, and not beyond 64. */
function needsLong(text: string): boolean {
  const value = scaledInteger(text, 0, 19, 'refuse');
  return (
    typeof value === 'bigint' && BigInt.asIntN(32, value) !== value && BigInt.asIntN(64, value) === value
  );
}

/** Beyond the largest float once rounded to one, and a double. */
function needsDouble(text: string): boolean {
  const value = Math.abs(Number(text));
  return Number.isFinite(value) && value > MAX_FLOAT && !Number.isFinite(Math.fround(value));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof NumberText);
}

function numbersAsTexts(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? new NumberText(context.source) : value;
}
