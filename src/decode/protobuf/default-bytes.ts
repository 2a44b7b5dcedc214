import { type ProtoField, ProtoSchemaFault, type ProtoType, wireTypeOf } from './proto-schema.ts';

/** The value that stands for a field which is not there: zero, false, empty, the first of an enum; in its binary form. */
export function zeroBytes(type: ProtoType): Uint8Array {
  if (type.kind === 'enum') return varint(BigInt(type.first));
  const wireType = wireTypeOf(type);
  if (wireType === 1) return new Uint8Array(8);
  return wireType === 5 ? new Uint8Array(4) : new Uint8Array(1);
}

/**
 * The default that a schema declares (proto2), in its binary form. Throws ProtoSchemaFault where it is none of the type, or
 * an integer that the parser cannot have read exactly.
 */
export function defaultBytes(field: ProtoField, type: ProtoType): Uint8Array {
  const value = field.declaredDefault;
  const bad = (what: string): ProtoSchemaFault =>
    new ProtoSchemaFault(`the default of ${field.name} ${what}`);
  if (type.kind === 'enum') {
    const number = type.numbers.get(String(value));
    if (number === undefined) throw bad(`is no value of ${type.fullName}`);
    return varint(BigInt(number));
  }
  if (type.kind !== 'scalar') throw bad('is for a message');
  switch (type.scalar) {
    case 'bool':
      return Uint8Array.of(value === true ? 1 : 0);
    case 'string':
      return sized(new TextEncoder().encode(String(value)));
    case 'bytes':
      return sized(Uint8Array.from(String(value), (char) => char.charCodeAt(0)));
    case 'float':
    case 'double': {
      const isFloat = type.scalar === 'float';
      const view = new DataView(new ArrayBuffer(isFloat ? 4 : 8));
      if (isFloat) view.setFloat32(0, Number(value), true);
      else view.setFloat64(0, Number(value), true);
      return new Uint8Array(view.buffer);
    }
    default:
      if (!Number.isSafeInteger(value)) throw bad('is beyond 2^53, where it cannot be read exactly');
      return integer(BigInt(value as number), type.scalar);
  }
}

function integer(value: bigint, scalar: string): Uint8Array {
  if (scalar.startsWith('sint')) return varint((value << 1n) ^ (value >> 63n));
  if (!scalar.includes('fixed')) return varint(value);
  const view = new DataView(new ArrayBuffer(scalar.endsWith('32') ? 4 : 8));
  if (scalar.endsWith('32')) view.setInt32(0, Number(BigInt.asIntN(32, value)), true);
  else view.setBigInt64(0, value, true);
  return new Uint8Array(view.buffer);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function sized(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([...varint(BigInt(bytes.length)), ...bytes]);
}
