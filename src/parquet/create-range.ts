import { parseDecimal } from '../core/schema.ts';
import { BytesRange } from './bytes-range.ts';
import { FixedRange } from './fixed-range.ts';
import { FloatRange } from './float-range.ts';
import { PHYSICAL_TYPE } from './format.ts';
import { Int32Range, Int64Range } from './integer-range.ts';
import type { LeafColumn } from './leaf-column.ts';
import type { ValueRange } from './value-range.ts';

/** An empty range for the values of a leaf. */
export function createRange(leaf: LeafColumn): ValueRange {
  const isDecimal = parseDecimal(leaf.type) !== undefined;
  switch (leaf.physicalType) {
    case PHYSICAL_TYPE.BOOLEAN:
      return new Int32Range(1, false);
    case PHYSICAL_TYPE.INT32:
      return new Int32Range(4, isDecimal);
    case PHYSICAL_TYPE.INT64:
      return new Int64Range(isDecimal);
    case PHYSICAL_TYPE.FLOAT:
      return new FloatRange(4);
    case PHYSICAL_TYPE.DOUBLE:
      return new FloatRange(8);
    case PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY:
      return new FixedRange(leaf.width, isDecimal);
    default:
      return new BytesRange(leaf.type === 'string');
  }
}
