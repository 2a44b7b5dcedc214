/** Columns that the writer's schema does not have: a default, null, or a fault where neither is. */

import type { TypedColumn } from '../../columns/create-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import { isPrimitive, type NestedField, type PrimitiveType } from '../../core/schema.ts';
import { decimalToFixed, singleValueFromJson } from '../../core/single-value.ts';
import { SluiceError } from '../../errors.ts';
import { appendText } from '../append-bytes.ts';
import type { AvroInput } from './avro-input.ts';
import { FaultOp, NullOp, type Op } from './op.ts';

/**
 * The step that fills a column that is not in the data: its write default, else null (case C05), else MISSING_REQUIRED.
 * A struct's default is `{}`: then its fields' own count. Throws METADATA_INVALID for a default that is none of its type.
 */
export function missingColumnOp(field: NestedField, column: TypedColumn): Op {
  const { type, writeDefault } = field;
  if (writeDefault !== undefined && writeDefault !== null) {
    if (isPrimitive(type)) return constantOp(type, column, singleValueFromJson(type, writeDefault));
    if (type.type === 'struct') return structDefaultOp(type.fields, column as StructColumn);
  }
  if (field.required)
    return new FaultOp('MISSING_REQUIRED', `the writer's schema has no field for the required column`);
  return new NullOp(column);
}

function structDefaultOp(fields: readonly NestedField[], column: StructColumn): Op {
  const ops = fields.map((field, i) => missingColumnOp(field, column.fields[i] as TypedColumn));
  return {
    run(input) {
      for (const op of ops) op.run(input);
      column.endRow();
    },
  };
}

function constantOp(type: PrimitiveType, column: TypedColumn, value: PartitionValue): Op {
  switch (column.kind) {
    case 'boolean':
      return { run: () => column.append(value === true) };
    case 'int32':
    case 'float32':
    case 'float64':
      return { run: () => column.append(Number(value)) };
    case 'int64':
      return { run: () => column.appendBigInt(value as bigint) };
    case 'fixed': {
      const bytes = typeof value === 'bigint' ? decimalToFixed(value, column.width) : (value as Uint8Array);
      return { run: () => column.append(bytes) };
    }
    case 'bytes': {
      if (type !== 'string') return { run: () => column.appendBytes(value as Uint8Array) };
      const text = new TextEncoder().encode(value as string);
      return { run: () => appendText(column, text, 0, text.length) };
    }
    default:
      throw new SluiceError('INTERNAL', `no column of kind ${column.kind} holds values of type ${type}`);
  }
}

/** Reads a default of the reader's schema, in its binary form, as if it stood in the value. */
export class ReaderDefaultOp implements Op {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly value: Op;

  constructor(bytes: Uint8Array, value: Op) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.value = value;
  }

  run(input: AvroInput): void {
    input.readAside(this.bytes, this.view, this.value);
  }
}
