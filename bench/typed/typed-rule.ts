import type { TypedScenario } from '../options.ts';
import { TYPED_DDL } from './typed-events.ts';

/** The table rule of a typed scenario, as in a pipeline file. */
export function typedRule(scenario: TypedScenario): object {
  return {
    match: '*',
    layout: 'typed',
    table: 'bronze.events',
    partitionBy: ['days(ts)'],
    value: { format: scenario === 'typed-json' ? 'json' : 'avro', schema: TYPED_DDL },
  };
}
