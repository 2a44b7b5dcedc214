/** The options under `route` of a typed rule: one topic into several tables. */
import type { Option } from './option.ts';

const SINCE = '0.1.0';

const option = (key: string, doc: string, type: Option['type'], more: Partial<Option> = {}): Option => ({
  section: 'tables[].route',
  key,
  doc,
  type,
  since: SINCE,
  ...more,
});

export const ROUTE_OPTIONS: readonly Option[] = [
  option(
    'by',
    'What says where a record goes: a field of the value (dots lead into objects), or `$recordName`, the full name of the Avro record.',
    { kind: 'text' },
    { required: true },
  ),
  option(
    'tables',
    'The table of a value of the field: `{ click: silver.clicks, view: silver.views }`. Tables that are missing are made.',
    { kind: 'properties' },
  ),
  option(
    'unknown',
    'What becomes of a record whose value is not among `tables`: `quarantine`, `stop`, or `create`: its table is `table` with `${route}` filled in, in lower case, every character outside a-z, 0-9 and _ as _.',
    { kind: 'choice', values: ['quarantine', 'create', 'stop'] },
    { default: 'quarantine' },
  ),
  option(
    'maxTables',
    'Under `unknown: create`, how many tables the rule may have in all; records beyond go to the quarantine as ROUTE_UNKNOWN.',
    { kind: 'integer', min: 1, max: 10_000 },
    { default: 100, unit: 'tables' },
  ),
];
