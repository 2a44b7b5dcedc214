import protobuf from 'protobufjs';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { messageOf } from '../../errors.ts';
import {
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  ProtoSchemaFault,
  type ProtoType,
  SCALARS,
  type Scalar,
} from './proto-schema.ts';
import { syntaxOf } from './proto-syntax.ts';
import { WELL_KNOWN } from './well-known.ts';

/** What `features` of an edition say, or the syntax before there were editions. Inherited from the file down to the field. */
interface Features {
  readonly presence: 'explicit' | 'implicit' | 'required';
  readonly closedEnums: boolean;
  readonly delimited: boolean;
}

const FEATURES_OF: Readonly<Record<string, Features>> = {
  proto2: { presence: 'explicit', closedEnums: true, delimited: false },
  proto3: { presence: 'implicit', closedEnums: false, delimited: false },
};
const EDITION: Features = { presence: 'explicit', closedEnums: false, delimited: false };
const PRESENCE: Readonly<Record<string, Features['presence']>> = {
  EXPLICIT: 'explicit',
  IMPLICIT: 'implicit',
  LEGACY_REQUIRED: 'required',
};

type Definition = ProtoMessage | ProtoEnum | { readonly kind: 'group' };

/** A schema of the registry with what it imports. */
export class ProtoFile {
  /** The messages of the file itself, in order, without those nested in others. */
  readonly messages: readonly ProtoMessage[];
  private readonly symbols: Symbols;

  constructor(messages: readonly ProtoMessage[], symbols: Symbols) {
    this.messages = messages;
    this.symbols = symbols;
  }

  /** The message that indexes of the wire format lead to, each into those nested in the one before; undefined where to none. */
  messageAt(indexes: ArrayLike<number>): ProtoMessage | undefined {
    let among: readonly ProtoMessage[] = this.messages;
    let found: ProtoMessage | undefined;
    for (let i = 0; i < indexes.length; i++) {
      found = among[indexes[i]];
      if (found === undefined) return undefined;
      among = found.nested;
    }
    return found;
  }

  /** A message by its full name, with or without a leading dot. */
  messageNamed(fullName: string): ProtoMessage | undefined {
    const found = this.symbols.definitions.get(fullName.replace(/^\./, ''));
    return found?.kind === 'message' ? found : undefined;
  }
}

/** Every name of the files, and the packages around them. */
class Symbols {
  readonly definitions = new Map<string, Definition>();
  readonly packages = new Set<string>();

  /** The first definition of a name counts: that of the file itself, then those of its imports. */
  define(fullName: string, definition: Definition): void {
    if (!this.definitions.has(fullName)) this.definitions.set(fullName, definition);
  }

  /**
   * What a name means within a scope: the innermost scope that knows its first part decides (Protobuf language guide,
   * "Packages and Name Resolution").
   */
  resolve(name: string, scope: string): Definition | undefined {
    if (name.startsWith('.')) return this.definitions.get(name.slice(1));
    const [first] = name.split('.');
    const isPath = first !== name;
    for (let at = scope; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
      const prefix = at === '' ? '' : `${at}.`;
      const head = this.definitions.get(prefix + first);
      if (!isPath && head !== undefined) return head;
      if (isPath && (head?.kind === 'message' || this.packages.has(prefix + first)))
        return this.definitions.get(prefix + name);
      if (at === '') return undefined;
    }
  }
}

/** Throws ProtoSchemaFault where the text, or that of a reference, is no .proto file. */
export function parseProto(text: string, references: RegisteredSchema['references'] = []): ProtoFile {
  const symbols = new Symbols();
  const { root, imports } = parseFile(text, 'the schema');
  const given = new Set(references.map(({ name }) => name));
  const missing = imports.filter((path) => !given.has(path) && !path.startsWith('google/protobuf/'));
  const messages = new FileReader(symbols, missing).read(root, text);
  for (const { name, schema } of references)
    new FileReader(symbols, missing).read(parseFile(schema, name).root, schema);
  for (const schema of WELL_KNOWN)
    new FileReader(symbols, missing).read(parseFile(schema, 'well-known').root, schema);
  return new ProtoFile(messages, symbols);
}

function parseFile(text: string, what: string): { root: protobuf.Root; imports: readonly string[] } {
  try {
    const { root, imports } = protobuf.parse(text, new protobuf.Root(), { keepCase: true });
    return { root, imports: imports ?? [] };
  } catch (e) {
    throw new ProtoSchemaFault(`${what} is no .proto file that can be read: ${messageOf(e).slice(0, 300)}`);
  }
}

/** Makes messages of what the parser found in one file. */
class FileReader {
  private readonly symbols: Symbols;
  /** Imports that nobody gave; named where a type is not found. */
  private readonly missing: readonly string[];

  constructor(symbols: Symbols, missing: readonly string[]) {
    this.symbols = symbols;
    this.missing = missing;
  }

  /** The messages at the top of the file. */
  read(root: protobuf.Root, text: string): ProtoMessage[] {
    const syntax = syntaxOf(text);
    return this.namespace(root, '', FEATURES_OF[syntax] ?? EDITION);
  }

  private namespace(space: protobuf.NamespaceBase, scope: string, features: Features): ProtoMessage[] {
    const messages: ProtoMessage[] = [];
    for (const each of space.nestedArray) {
      const fullName = scope === '' ? each.name : `${scope}.${each.name}`;
      if (each instanceof protobuf.Type) {
        const message = this.message(each, fullName, features);
        if (message !== null) messages.push(message);
      } else if (each instanceof protobuf.Enum) this.enumeration(each, fullName, features);
      else if (each instanceof protobuf.Namespace && !(each instanceof protobuf.Service)) {
        this.symbols.packages.add(fullName);
        messages.push(...this.namespace(each, fullName, features));
      }
    }
    return messages;
  }

  /** Null for a group, which is no message of its own. */
  private message(type: protobuf.Type, fullName: string, outer: Features): ProtoMessage | null {
    const features = within(outer, type.options);
    const nested = this.namespace(type, fullName, features);
    // Extensions of others that stand in a message are fields of those others; they are not read.
    const fields = type.fieldsArray
      .filter((field) => !field.name.startsWith('.'))
      .map((field) => this.field(field, fullName, features));
    if ((type as { group?: boolean }).group === true) {
      this.symbols.define(fullName, { kind: 'group' });
      return null;
    }
    const message: ProtoMessage = { kind: 'message', fullName, name: type.name, fields, nested };
    this.symbols.define(fullName, message);
    return message;
  }

  private enumeration(found: protobuf.Enum, fullName: string, outer: Features): void {
    const numbers = new Map(Object.entries(found.values));
    const names = new Map<number, string>();
    for (const [name, number] of numbers) if (!names.has(number)) names.set(number, name);
    const [first = 0] = numbers.values();
    const isClosed = within(outer, found.options).closedEnums;
    this.symbols.define(fullName, {
      kind: 'enum',
      fullName,
      name: found.name,
      names,
      numbers,
      first,
      isClosed,
    });
  }

  private field(field: protobuf.Field, scope: string, outer: Features): ProtoField {
    const features = within(outer, field.options);
    const options = (field.options ?? {}) as Record<string, unknown>;
    const isMap = field instanceof protobuf.MapField;
    const type = lazily(() => this.typeOf(field, scope, features));
    const isOptional = options.proto3_optional === true;
    return {
      name: field.name,
      number: field.id,
      label: isMap ? 'map' : field.rule === 'repeated' ? 'repeated' : 'singular',
      key: isMap ? (field.keyType as Scalar) : null,
      isRequired:
        !isMap &&
        (field.rule === 'required' ||
          (features.presence === 'required' && field.partOf === null && field.rule !== 'repeated')),
      isImplicit: () =>
        features.presence === 'implicit' && !isOptional && field.partOf === null && type().kind !== 'message',
      declaredDefault: (options.default as string | number | boolean | undefined) ?? null,
      oneof: field.partOf === null || isOptional ? null : field.partOf.name,
      type,
    };
  }

  private typeOf(field: protobuf.Field, scope: string, features: Features): ProtoType {
    if (SCALARS.has(field.type)) return { kind: 'scalar', scalar: field.type as Scalar };
    const found = this.symbols.resolve(field.type, scope);
    if (found === undefined) {
      const imports =
        this.missing.length === 0
          ? ''
          : `; the registry did not give the imports ${this.missing.slice(0, 5).join(', ')}`;
      throw new ProtoSchemaFault(
        `${scope}.${field.name} is of type ${field.type}, which is not defined${imports}`,
      );
    }
    return found.kind === 'message' && features.delimited ? { kind: 'group' } : found;
  }
}

function within(outer: Features, options: { [name: string]: unknown } | undefined): Features {
  const said = options?.features as Record<string, unknown> | undefined;
  if (said === undefined || said === null) return outer;
  const enums = said.enum_type;
  const encoding = said.message_encoding;
  return {
    presence: PRESENCE[String(said.field_presence)] ?? outer.presence,
    closedEnums: enums === undefined ? outer.closedEnums : enums === 'CLOSED',
    delimited: encoding === undefined ? outer.delimited : encoding === 'DELIMITED',
  };
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
