import type { ReasonCode } from '../reasons.ts';
import type { ProtoInput } from './proto-input.ts';

/** Reads the value of a field, whose tag was read, and appends one row to the column it is for. */
export interface Step {
  read(input: ProtoInput): void;
}

/** What stands for a field that the message does not have; reads nothing, and appends one row. */
export interface AbsentStep {
  append(input: ProtoInput): void;
}

/** A step that no record gets past. */
export class FaultStep implements Step, AbsentStep {
  private readonly reason: ReasonCode;
  private readonly message: string;

  constructor(reason: ReasonCode, message: string) {
    this.reason = reason;
    this.message = message;
  }

  read(input: ProtoInput): void {
    input.fail(this.reason, this.message);
  }

  append(input: ProtoInput): void {
    input.fail(this.reason, this.message);
  }
}

/** A default in its binary form, read as if it stood in the message. */
export class DefaultStep implements AbsentStep {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly step: Step;

  constructor(bytes: Uint8Array, step: Step) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.step = step;
  }

  append(input: ProtoInput): void {
    input.readAside(this.bytes, this.view, this.bytes.length, this.step);
  }
}
