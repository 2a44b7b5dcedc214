import type { ReasonCode } from '../reasons.ts';

/**
 * What is thrown inside of a decoder where a record is at fault, one object for all of them: no stack is taken, so that
 * a topic full of broken records is not much slower than a good one. It never leaves the room.
 */
export class JsonFault {
  reason: ReasonCode = 'INVALID_JSON';
  /** Path of the field; empty where the whole document is at fault. */
  field = '';
  message = '';
  /** Position in the block of what is at fault. */
  at = 0;
  /** Is it no JSON text at all? Such a fault goes before those of fields. */
  syntax = false;
}
