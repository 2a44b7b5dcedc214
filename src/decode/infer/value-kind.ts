/** What is known of the values at one place of documents, and how it grows: the rules of Spark's JsonInferSchema. */
import type { IcebergType, NestedField } from '../../core/schema.ts';

export type PlainKind = 'boolean' | 'int' | 'long' | 'double' | 'string' | 'timestamptz' | 'date';

export type ValueKind =
  /** Nothing yet: null, or nothing inside of a list. */
  | { kind: 'unknown' }
  /** Texts of no length, which stand for null with many writers: a string where nothing else comes. */
  | { kind: 'emptyText' }
  | { kind: PlainKind }
  /** Integers beyond 64 bits. */
  | { kind: 'decimal'; precision: number }
  | { kind: 'list'; element: ValueKind }
  | { kind: 'struct'; fields: Map<string, ValueKind> };

export const UNKNOWN: ValueKind = { kind: 'unknown' };
export const EMPTY_TEXT: ValueKind = { kind: 'emptyText' };
export const PLAIN: Readonly<Record<PlainKind, ValueKind>> = {
  boolean: { kind: 'boolean' },
  int: { kind: 'int' },
  long: { kind: 'long' },
  double: { kind: 'double' },
  string: { kind: 'string' },
  timestamptz: { kind: 'timestamptz' },
  date: { kind: 'date' },
};

/** The kind of two plain values together; undefined where they have nothing in common but their text. */
export function commonKind(a: ValueKind, b: ValueKind): ValueKind | undefined {
  if (a.kind === b.kind && a.kind !== 'decimal') return a;
  if (a.kind === 'decimal' && b.kind === 'decimal') return a.precision >= b.precision ? a : b;
  for (const [one, other] of [
    [a, b],
    [b, a],
  ]) {
    const whole = other.kind === 'int' || other.kind === 'long';
    if (one.kind === 'long' && whole) return one;
    if (one.kind === 'double' && (whole || other.kind === 'decimal')) return one;
    // Spark takes a long for a decimal of 20 digits.
    if (one.kind === 'decimal' && whole) return { kind: 'decimal', precision: Math.max(20, one.precision) };
  }
  return undefined;
}

/**
 * The type of a kind, ids all 0, nothing required; undefined where no value has told it. Whole numbers are long; with
 * `narrow` they are int where all of them fit 32 bits.
 */
export function typeOfKind(kind: ValueKind, narrow: boolean): IcebergType | undefined {
  switch (kind.kind) {
    case 'unknown':
      return undefined;
    case 'emptyText':
      return 'string';
    case 'int':
      return narrow ? 'int' : 'long';
    case 'decimal':
      return `decimal(${kind.precision}, 0)`;
    case 'list': {
      const element = typeOfKind(kind.element, narrow);
      return element === undefined
        ? undefined
        : { type: 'list', elementId: 0, element, elementRequired: false };
    }
    case 'struct': {
      const fields = [...kind.fields].flatMap(([name, inner]): NestedField[] => {
        const type = typeOfKind(inner, narrow);
        return type === undefined ? [] : [{ id: 0, name, required: false, type }];
      });
      return fields.length === 0 ? undefined : { type: 'struct', fields };
    }
    default:
      return kind.kind;
  }
}
