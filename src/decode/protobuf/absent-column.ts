import type { TypedColumn } from '../../columns/create-column.ts';
import type { NestedField } from '../../core/schema.ts';
import { AvroFault, AvroInput } from '../avro/avro-input.ts';
import { missingColumnOp } from '../avro/default-ops.ts';
import type { ProtoInput } from './proto-input.ts';
import type { AbsentStep } from './step.ts';

/** The columns' defaults read nothing. */
const NOTHING = new AvroInput();

/** Fills a column that the message has no value for: its write default, else null, else MISSING_REQUIRED. */
export function absentColumn(field: NestedField, column: TypedColumn): AbsentStep {
  const op = missingColumnOp(field, column);
  return {
    append(input: ProtoInput): void {
      try {
        op.run(NOTHING);
      } catch (e) {
        if (!(e instanceof AvroFault)) throw e;
        input.fail('MISSING_REQUIRED', 'the message has no value for the required column');
      }
    },
  };
}
