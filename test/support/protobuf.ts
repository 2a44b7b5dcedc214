import type { NestedField } from '../../src/core/schema.ts';
import type { ProtobufFormat, RegisteredSchema } from '../../src/core/value-format.ts';
import { createProtobufDecoder, type ProtobufDecoder } from '../../src/decode/protobuf/protobuf-decoder.ts';
import { type Plain, plainValue, valuesOf } from './avro.ts';

export function protobufFormat(options: Partial<ProtobufFormat> = {}): ProtobufFormat {
  return {
    format: 'protobuf',
    mode: 'quarantine',
    corruptRecordColumn: null,
    timeZone: 'UTC',
    message: null,
    ...options,
  };
}

export function proto(
  id: number,
  schema: string,
  references: RegisteredSchema['references'] = [],
): RegisteredSchema {
  return { id, type: 'PROTOBUF', schema, references };
}

/** A message in the registry's frame, with message indexes before it; those of the first message when left out. */
export function protoValue(id: number, body: Uint8Array, indexes: Uint8Array = Uint8Array.of(0)): Buffer {
  const frame = Buffer.alloc(5);
  frame.writeInt32BE(id, 1);
  return Buffer.concat([frame, indexes, body]);
}

export interface Decoded {
  rows: { [name: string]: Plain }[];
  /** `row REASON field`. */
  faults: string[];
  decoder: ProtobufDecoder;
}

/** Values of some schemas of the registry, decoded into columns. */
export function decodeProto(
  fields: readonly NestedField[],
  schemas: readonly RegisteredSchema[],
  values: readonly (Uint8Array | null)[],
  options: Partial<ProtobufFormat> = {},
): Decoded {
  const decoder = createProtobufDecoder(fields, protobufFormat(options), schemas);
  decoder.decode(valuesOf(values));
  return { ...readDecoder(fields, decoder), decoder };
}

export function readDecoder(
  fields: readonly NestedField[],
  decoder: ProtobufDecoder,
): Omit<Decoded, 'decoder'> {
  const length = decoder.columns[0]?.length ?? 0;
  for (const column of decoder.columns) {
    if (column.length !== length) throw new Error(`a column has ${column.length} rows, another ${length}`);
  }
  const rows = Array.from({ length }, (_, row) =>
    Object.fromEntries(fields.map((f, i) => [f.name, plainValue(f.type, decoder.columns[i], row)])),
  );
  const faults = decoder.faults.map(
    ({ row, reason, field }) => `${row} ${reason}${field === '' ? '' : ` ${field}`}`,
  );
  return { rows, faults };
}
