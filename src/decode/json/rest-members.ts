import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FieldPlan } from './field-plan.ts';

interface Member {
  /** The struct that it is in; null for the document. */
  owner: FieldPlan | null;
  /** The name's string, quotes included: [keyAt, ...), up to the colon and the white space before it. */
  keyAt: number;
  valueAt: number;
  until: number;
}

/**
 * The members of a record that no column takes, as one JSON object: numbers and strings as they were written, white space
 * left out, members of structs inside of objects of the structs' names. Members of structs in lists and maps have no place
 * in it. Of names that stand twice the last member is kept.
 */
export class RestMembers {
  readonly column: BytesColumn;
  private members: Member[] = [];

  constructor(column: BytesColumn) {
    this.column = column;
  }

  add(owner: FieldPlan | null, keyAt: number, valueAt: number, until: number): void {
    this.members.push({ owner, keyAt, valueAt, until });
  }

  /** A struct comes again: what it had before does not count. */
  forget(field: FieldPlan): void {
    this.members = this.members.filter((m) => !isIn(m.owner, field));
  }

  clear(): void {
    if (this.members.length > 0) this.members = [];
  }

  /** Appends the record's row: null where nothing is left over. */
  appendRow(data: Uint8Array): void {
    if (this.members.length === 0) {
      this.column.appendNull();
      return;
    }
    this.column.appendBytes(Buffer.from(this.objectText(null, data)));
    this.members = [];
  }

  private objectText(owner: FieldPlan | null, data: Uint8Array): string {
    const texts = new Map<string, string>();
    const structs = new Map<string, FieldPlan>();
    for (const member of this.members) {
      if (member.owner === owner) {
        const key = nameText(data, member.keyAt);
        texts.delete(key.name);
        texts.set(key.name, `${key.text}:${compactText(data, member.valueAt, member.until)}`);
      } else {
        const child = childToward(member.owner, owner);
        if (child !== undefined) structs.set(child.name, child);
      }
    }
    const parts = [...texts.values()];
    for (const [name, child] of structs)
      parts.push(`${JSON.stringify(name)}:${this.objectText(child, data)}`);
    return `{${parts.join(',')}}`;
  }
}

/** The field right inside of `owner` that `inner` is, or is in. */
function childToward(inner: FieldPlan | null, owner: FieldPlan | null): FieldPlan | undefined {
  for (let field = inner; field !== null; field = field.parent) if (field.parent === owner) return field;
  return undefined;
}

function isIn(inner: FieldPlan | null, field: FieldPlan): boolean {
  for (let at = inner; at !== null; at = at.parent) if (at === field) return true;
  return false;
}

/** The string whose opening quote stands at `at`, as it was written and as it is meant. */
function nameText(data: Uint8Array, at: number): { name: string; text: string } {
  let until = at + 1;
  while (data[until] !== 0x22) until += data[until] === 0x5c ? 2 : 1;
  const text = Buffer.from(data.buffer, data.byteOffset + at, until + 1 - at).toString();
  return { name: JSON.parse(text) as string, text };
}

/** A JSON value without the white space between its tokens. */
function compactText(data: Uint8Array, from: number, until: number): string {
  const bytes = Buffer.allocUnsafe(until - from);
  let to = 0;
  let inString = false;
  for (let at = from; at < until; at++) {
    const byte = data[at];
    if (!inString && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) continue;
    bytes[to++] = byte;
    if (byte === 0x22) inString = !inString;
    else if (byte === 0x5c) bytes[to++] = data[++at];
  }
  return bytes.toString('utf8', 0, to);
}
