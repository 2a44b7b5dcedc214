import type { LogicalType, TimeUnit } from './avro-schema.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * The logical type that an object of a schema declares on `kind` (for fixed with its size), or null where there is none,
 * it is unknown, or it is not valid there: then the raw type counts (Avro spec, "Logical Types"). Only attributes of the
 * type's own object are looked at: a `logicalType` beside the type on a field is none (case C10).
 */
export function logicalTypeOf(kind: string, node: Json, size: number): LogicalType | null {
  const name = node.logicalType;
  switch (name) {
    case 'decimal':
      return kind === 'bytes' || kind === 'fixed'
        ? decimalOf(node, kind === 'fixed' ? size : undefined)
        : null;
    case 'uuid':
      return kind === 'string' || (kind === 'fixed' && size === 16) ? { name: 'uuid' } : null;
    case 'duration':
      return kind === 'fixed' && size === 12 ? { name: 'duration' } : null;
    case 'date':
      return kind === 'int' ? { name: 'date' } : null;
    case 'time-millis':
      return kind === 'int' ? { name: 'time', unit: 'millis' } : null;
    case 'time-micros':
      return kind === 'long' ? { name: 'time', unit: 'micros' } : null;
    default:
      return kind === 'long' && typeof name === 'string' ? timestampOf(name) : null;
  }
}

function timestampOf(name: string): LogicalType | null {
  const match = /^(local-)?timestamp-(millis|micros|nanos)$/.exec(name);
  if (match === null) return null;
  const unit = match[2] as TimeUnit;
  return match[1] === undefined ? { name: 'timestamp', unit } : { name: 'local-timestamp', unit };
}

function decimalOf(node: Json, size: number | undefined): LogicalType | null {
  const { precision, scale = 0 } = node;
  if (!isCount(precision) || !isCount(scale) || precision < 1 || scale > precision) return null;
  if (size !== undefined && precision > digitsOf(size)) return null;
  return { name: 'decimal', precision, scale };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 0x8000_0000;
}

/** How many decimal digits every two's complement number of `size` bytes can hold: floor(log10(2^(8 size - 1) - 1)). */
function digitsOf(size: number): number {
  return size === 0 ? 0 : Math.floor(Math.log10(2) * (8 * size - 1));
}
