import type { ReasonCode } from '../reasons.ts';
import type { AvroInput } from './avro-input.ts';

/** One step of a compiled plan: reads what the writer's schema has next, and appends one row to the column it is for, or none. */
export interface Op {
  run(input: AvroInput): void;
}

/** Reads nothing and appends nothing. */
export const NOTHING: Op = { run() {} };

/** A step that no record gets past: what it says was found when the schemas were compared. */
export class FaultOp implements Op {
  readonly reason: ReasonCode;
  readonly message: string;

  constructor(reason: ReasonCode, message: string) {
    this.reason = reason;
    this.message = message;
  }

  run(input: AvroInput): void {
    input.fail(this.reason, this.message);
  }
}

/** A null in a column that takes it: nothing is read. */
export class NullOp implements Op {
  private readonly column: { appendNull(): void };

  constructor(column: { appendNull(): void }) {
    this.column = column;
  }

  run(): void {
    this.column.appendNull();
  }
}
