import type { RegisteredSchema } from '../../core/value-format.ts';
import { compileMessage, type Target } from './message-compiler.ts';
import type { MessageIndexes } from './message-indexes.ts';
import type { MessagePlan } from './message-plan.ts';
import { type ProtoFile, parseProto } from './proto-parser.ts';
import { type ProtoMessage, ProtoSchemaFault } from './proto-schema.ts';

/** How the values of one message of a schema are read, or why they cannot be. */
export type MessageEntry = { readonly path: readonly number[] } & (
  | { readonly plan: MessagePlan }
  | { readonly plan: null; readonly fault: string }
);

/** Index paths that lead nowhere are kept for so many of them; the others are looked up anew. */
const MAX_ENTRIES = 1000;

/** The messages of one schema of the registry, compiled for the columns as they are met. */
export class RegisteredMessages {
  readonly id: number;
  /** The number of the block that used it last. */
  block = 0;
  private readonly file: ProtoFile | null = null;
  private readonly fault: string = '';
  private readonly target: Target;
  private readonly expected: string | null;
  private readonly entries: MessageEntry[] = [];

  /** `expected`: the full name of the one message that is taken, or null. */
  constructor(schema: RegisteredSchema, target: Target, expected: string | null) {
    this.id = schema.id;
    this.target = target;
    this.expected = expected === null ? null : expected.replace(/^\./, '');
    try {
      if (schema.type !== 'PROTOBUF') throw new ProtoSchemaFault(`it is of type ${schema.type}`);
      this.file = parseProto(schema.schema, schema.references);
    } catch (e) {
      this.fault = faultOf(e);
    }
  }

  entryOf(indexes: MessageIndexes): MessageEntry {
    for (const entry of this.entries) if (indexes.equals(entry.path)) return entry;
    const entry = this.compile([...indexes.path.subarray(0, indexes.length)]);
    if (this.entries.length < MAX_ENTRIES) this.entries.push(entry);
    return entry;
  }

  private compile(path: number[]): MessageEntry {
    const fault = (what: string): MessageEntry => ({ path, plan: null, fault: what });
    if (this.file === null) return fault(`schema ${this.id} of the registry cannot be used: ${this.fault}`);
    const message = this.file.messageAt(path);
    if (message === undefined)
      return fault(`schema ${this.id} has no message at the indexes ${path.slice(0, 10).join(', ')}`);
    if (this.expected !== null && message.fullName !== this.expected)
      return fault(`the value is of message ${message.fullName}, and ${this.expected} is expected`);
    return this.compiled(path, message);
  }

  private compiled(path: number[], message: ProtoMessage): MessageEntry {
    try {
      return { path, plan: compileMessage(message, this.target) };
    } catch (e) {
      return { path, plan: null, fault: `schema ${this.id} of the registry cannot be used: ${faultOf(e)}` };
    }
  }
}

/** Messages that hold one another in a long row may ask for more stack than there is. */
function faultOf(e: unknown): string {
  if (e instanceof ProtoSchemaFault || e instanceof RangeError) return e.message;
  throw e;
}
