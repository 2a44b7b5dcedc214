/** The names that types have in DDL and in Spark's JSON, and the Iceberg types they stand for (Iceberg docs, "Spark type to Iceberg type"). */
import { nearestName } from '../nearest-name.ts';
import type { PrimitiveType } from '../schema.ts';

interface NamedType {
  /** The numbers in brackets that must or may follow: least and most. */
  parameters: readonly [least: number, most: number];
  /** The type; a text says what is wrong with the numbers. */
  of(numbers: readonly number[]): PrimitiveType | { wrong: string };
}

const plain = (type: PrimitiveType): NamedType => ({ parameters: [0, 0], of: () => type });

const DECIMAL: NamedType = {
  parameters: [0, 2],
  of: ([precision = 10, scale = 0]) => {
    if (precision < 1 || precision > 38) return { wrong: `the precision ${precision} is not from 1 to 38` };
    return scale > precision
      ? { wrong: `the scale ${scale} is above the precision ${precision}` }
      : `decimal(${precision}, ${scale})`;
  },
};
/** The length is not kept: Iceberg has one string type. */
const SIZED_STRING: NamedType = {
  parameters: [1, 1],
  of: ([length]) => (length < 1 ? { wrong: 'the length is at least 1' } : 'string'),
};
const FIXED: NamedType = {
  parameters: [1, 1],
  of: ([length]) =>
    length < 1 || length > 1 << 20
      ? { wrong: `the length ${length} is not from 1 to ${1 << 20}` }
      : `fixed[${length}]`,
};
const TIME: NamedType = {
  parameters: [0, 1],
  of: ([digits = 6]) =>
    digits > 6 ? { wrong: `a time has at most 6 digits of a second, not ${digits}` } : 'time',
};

const TYPES: Readonly<Record<string, NamedType>> = {
  BOOLEAN: plain('boolean'),
  TINYINT: plain('int'),
  BYTE: plain('int'),
  SMALLINT: plain('int'),
  SHORT: plain('int'),
  INT: plain('int'),
  INTEGER: plain('int'),
  BIGINT: plain('long'),
  LONG: plain('long'),
  FLOAT: plain('float'),
  REAL: plain('float'),
  DOUBLE: plain('double'),
  DECIMAL,
  DEC: DECIMAL,
  NUMERIC: DECIMAL,
  STRING: plain('string'),
  VARCHAR: SIZED_STRING,
  CHAR: SIZED_STRING,
  CHARACTER: SIZED_STRING,
  BINARY: plain('binary'),
  DATE: plain('date'),
  TIME,
  TIMESTAMP: plain('timestamptz'),
  TIMESTAMP_LTZ: plain('timestamptz'),
  TIMESTAMPTZ: plain('timestamptz'),
  TIMESTAMP_NTZ: plain('timestamp'),
  TIMESTAMP_NS: plain('timestamp_ns'),
  TIMESTAMPTZ_NS: plain('timestamptz_ns'),
  UUID: plain('uuid'),
  FIXED,
};

const REFUSED: Readonly<Record<string, string>> = {
  VOID: 'VOID holds nothing but null; give the column the type of its values, or leave it out',
  NULL: 'NULL is no type; give the column the type of its values, or leave it out',
  INTERVAL: 'an Iceberg table holds no INTERVAL; use BIGINT with a unit, or STRING',
  CALENDARINTERVAL: 'an Iceberg table holds no INTERVAL; use BIGINT with a unit, or STRING',
  VARIANT: 'VARIANT is not written by this version; use STRING for the JSON text, or name the fields',
  GEOMETRY: 'GEOMETRY is not written by this version; use BINARY or STRING',
  GEOGRAPHY: 'GEOGRAPHY is not written by this version; use BINARY or STRING',
};

/** Names of other systems, and what they are called here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  LIST: 'ARRAY',
  TEXT: 'STRING',
  BYTES: 'BINARY',
  BLOB: 'BINARY',
  BYTEA: 'BINARY',
  BOOL: 'BOOLEAN',
  DATETIME: 'TIMESTAMP',
  NUMBER: 'DECIMAL',
  INT32: 'INT',
  INT64: 'BIGINT',
  FLOAT32: 'FLOAT',
  FLOAT64: 'DOUBLE',
  RECORD: 'STRUCT',
  ROW: 'STRUCT',
};

/** The type of a name, whatever its case, with the numbers that follow it in brackets; or what is wrong. */
export function namedType(name: string, numbers: readonly number[]): PrimitiveType | { wrong: string } {
  const wrong = wrongTypeName(name);
  if (wrong !== undefined) return { wrong };
  const upper = name.toUpperCase();
  const { parameters, of } = TYPES[upper];
  if (numbers.length < parameters[0]) return { wrong: `${upper} needs its length in brackets: ${upper}(20)` };
  if (numbers.length > parameters[1]) {
    const most = parameters[1] === 0 ? 'nothing' : parameters[1] === 1 ? 'one number' : 'two numbers';
    return { wrong: `${upper} takes ${most} in brackets, found (${numbers.join(', ')})` };
  }
  return of(numbers);
}

/** What is wrong with the name of a plain type, whatever follows it; undefined where it is one. */
export function wrongTypeName(name: string): string | undefined {
  const upper = name.toUpperCase();
  if (Object.hasOwn(REFUSED, upper)) return REFUSED[upper];
  return Object.hasOwn(TYPES, upper) ? undefined : unknownType(name);
}

export function unknownType(name: string): string {
  const upper = name.toUpperCase();
  const shown = name.slice(0, 60);
  const known = [...Object.keys(TYPES), 'ARRAY', 'MAP', 'STRUCT'];
  const meant = (Object.hasOwn(ELSEWHERE, upper) ? ELSEWHERE[upper] : undefined) ?? nearestName(name, known);
  return meant === undefined
    ? `expected a type, found ${shown}; the types are ${known.join(', ')}`
    : `expected a type, found ${shown}; did you mean ${meant}?`;
}

/** The name of a plain type in DDL, as `namedType` reads it. */
export function ddlTypeName(type: PrimitiveType): string {
  switch (type) {
    case 'long':
      return 'BIGINT';
    case 'timestamptz':
      return 'TIMESTAMP';
    case 'timestamp':
      return 'TIMESTAMP_NTZ';
    case 'unknown':
      return 'VOID';
    default:
      return type.toUpperCase().replace(', ', ',').replace('[', '(').replace(']', ')');
  }
}
