import type { PartitionValue } from '../core/data-file.ts';
import type { PrimitiveType } from '../core/schema.ts';
import { singleValueToBytes } from '../core/single-value.ts';
import type { FieldSummary } from './manifest-list.ts';

type Value = Exclude<PartitionValue, null>;

/** The summary of one partition field over the entries of a manifest (Iceberg spec, `field_summary`). */
export class PartitionSummary {
  readonly #type: PrimitiveType;
  #containsNull = false;
  #containsNan = false;
  #lower: Value | undefined;
  #upper: Value | undefined;

  constructor(type: PrimitiveType) {
    this.#type = type;
  }

  add(value: PartitionValue): void {
    if (value === null) this.#containsNull = true;
    else if (typeof value === 'number' && Number.isNaN(value)) this.#containsNan = true;
    else {
      if (this.#lower === undefined || comparePartitionValues(value, this.#lower) < 0) this.#lower = value;
      if (this.#upper === undefined || comparePartitionValues(value, this.#upper) > 0) this.#upper = value;
    }
  }

  finish(): FieldSummary {
    const bytes = (value: Value | undefined): Uint8Array | null =>
      value === undefined ? null : singleValueToBytes(this.#type, value);
    return {
      containsNull: this.#containsNull,
      containsNan: this.#containsNan,
      lowerBound: bytes(this.#lower),
      upperBound: bytes(this.#upper),
    };
  }
}

/** The order of two values of one type: strings by their UTF-8 bytes, bytes unsigned, -0.0 before 0.0. Neither is NaN. */
export function comparePartitionValues(a: Value, b: Value): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  return a < b ? -1 : a > b ? 1 : 0;
}
