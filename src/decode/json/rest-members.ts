import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FieldPlan } from './field-plan.ts';

/** Where a member stands in the bytes of its record. */
interface Member {
  /** The opening quote of its name. */
  keyAt: number;
  valueAt: number;
  until: number;
}

/** A member by its texts: the names of the structs that it is in, its name, its value as JSON. */
interface MemberText {
  structs: readonly string[];
  name: string;
  key: string;
  value: string;
}

/**
 * The members of a record that no column takes, as one JSON object: numbers and strings as they were written, white space
 * left out, members of structs inside of objects of the structs' names. Members of structs in lists and maps have no place
 * in it. Of names that stand twice the last member is kept.
 */
export class RestMembers {
  readonly column: BytesColumn;
  /** By the struct that they are in; null for the document. */
  private readonly members = new Map<FieldPlan | null, Member[]>();
  private texts: MemberText[] = [];

  constructor(column: BytesColumn) {
    this.column = column;
  }

  add(owner: FieldPlan | null, keyAt: number, valueAt: number, until: number): void {
    const members = this.members.get(owner);
    if (members === undefined) this.members.set(owner, [{ keyAt, valueAt, until }]);
    else members.push({ keyAt, valueAt, until });
  }

  /** Adds a member of the structs of the given names, outermost first, whose value is a JSON text. */
  addText(structs: readonly string[], name: string, value: string): void {
    this.texts.push({ structs, name, key: JSON.stringify(name.toWellFormed()), value });
  }

  /** A struct comes again: what it had before does not count. */
  forget(field: FieldPlan): void {
    for (const owner of this.members.keys()) if (isIn(owner, field)) this.members.delete(owner);
  }

  clear(): void {
    if (this.members.size > 0) this.members.clear();
    if (this.texts.length > 0) this.texts = [];
  }

  /** Appends the record's row: null where nothing is left over. `data`: the bytes that the record is in. */
  appendRow(data: Uint8Array): void {
    const { texts } = this;
    for (const [owner, members] of this.members) {
      const structs = structsOf(owner);
      for (const member of members) texts.push(textOf(member, structs, data));
    }
    if (texts.length === 0) this.column.appendNull();
    else this.column.appendBytes(Buffer.from(objectText(texts, 0)));
    this.clear();
  }
}

function structsOf(owner: FieldPlan | null): string[] {
  const structs: string[] = [];
  for (let field = owner; field !== null; field = field.parent) structs.unshift(field.name);
  return structs;
}

function textOf({ keyAt, valueAt, until }: Member, structs: readonly string[], data: Uint8Array): MemberText {
  return { structs, ...nameText(data, keyAt), value: compactText(data, valueAt, until) };
}

/** The object of the members that stand in the structs of the first one, up to `depth`. */
function objectText(members: readonly MemberText[], depth: number): string {
  const own = new Map<string, string>();
  const inner = new Map<string, MemberText[]>();
  for (const member of members) {
    if (member.structs.length === depth) {
      own.delete(member.name);
      own.set(member.name, `${member.key}:${member.value}`);
    } else {
      const name = member.structs[depth];
      const others = inner.get(name);
      if (others === undefined) inner.set(name, [member]);
      else others.push(member);
    }
  }
  const parts = [...own.values()];
  for (const [name, each] of inner) parts.push(`${JSON.stringify(name)}:${objectText(each, depth + 1)}`);
  return `{${parts.join(',')}}`;
}

function isIn(inner: FieldPlan | null, field: FieldPlan): boolean {
  for (let at = inner; at !== null; at = at.parent) if (at === field) return true;
  return false;
}

/** The string whose opening quote stands at `at`, as it was written and as it is meant. */
function nameText(data: Uint8Array, at: number): { name: string; key: string } {
  let until = at + 1;
  while (data[until] !== 0x22) until += data[until] === 0x5c ? 2 : 1;
  const key = Buffer.from(data.buffer, data.byteOffset + at, until + 1 - at).toString();
  return { name: JSON.parse(key) as string, key };
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
