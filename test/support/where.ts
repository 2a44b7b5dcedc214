import type { ForeignValue, Where } from './python.ts';

/** Does a row, as foreign readers print it, meet a condition? SQL's null meets no comparison. */
export function matches(where: Where, row: Record<string, ForeignValue>): boolean {
  if ('and' in where) return where.and.every((part) => matches(part, row));
  const found = row[where.column];
  if (!('value' in where)) return (found === null) === (where.op === 'null');
  if (found === null) return false;
  if (where.op === 'starts') return String(found).startsWith(String(where.value));
  const order = compare(found, where.value, where.type);
  switch (where.op) {
    case '=':
      return order === 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    default:
      return order >= 0;
  }
}

function compare(
  found: ForeignValue,
  value: string | number,
  type: 'int' | 'string' | 'binary' | 'timestamp',
): number {
  if (type === 'string') return Buffer.compare(Buffer.from(String(found)), Buffer.from(String(value)));
  if (type === 'binary')
    return Buffer.compare(Buffer.from(String(found), 'hex'), Buffer.from(String(value), 'hex'));
  const difference = BigInt(found as number) - BigInt(value);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
