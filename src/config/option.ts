import type { OptionType } from './option-types.ts';

/** The maps of a pipeline file that hold options. `tables[]` is each rule of the list `tables`, `tables[].value` a map in it. */
export type Section =
  | ''
  | 'catalog'
  | 'trigger'
  | 'source'
  | 'tables[]'
  | 'tables[].value'
  | 'tables[].key'
  | 'tables[].route'
  | 'registry'
  | 'quarantine'
  | 'shutdown'
  | 'retention'
  | 'progress'
  | 'http';

/** The one declaration of an option: schema, checks, documentation and JSON Schema are made from it. */
export interface Option {
  section: Section;
  /** The key inside the section; Spark's names hold dots. */
  key: string;
  doc: string;
  type: OptionType;
  /** Written as a person would write it. */
  default?: string | number | boolean | string[];
  required?: true;
  /** Never printed; may be given as `env:NAME`, `file:/path` or `exec:command`. */
  secret?: true;
  /** The unit of a bare number. */
  unit?: string;
  since: string;
  /** The environment variable that sets it too. */
  env?: string;
  /** Names that stand in the value as `${name}` and are no environment variables. */
  placeholders?: readonly string[];
  /** A warning about a parsed value, or undefined. */
  lint?: (value: never) => string | undefined;
  /** For an option that is accepted and changes nothing in this version: why. A warning says so. */
  noEffect?: string;
}

/** An option, or a value of one, that is known and refused: never ignored silently. */
export interface UnsupportedOption {
  section: Section;
  key: string;
  /** These values only; the option as a whole where left out. */
  values?: readonly (string | boolean)[];
  /** What to do instead. */
  instead: string;
}

/** `source.maxOffsetsPerTrigger`, `tables[].match`, `name`. */
export function optionPath(option: { section: Section; key: string }): string {
  return option.section === '' ? option.key : `${option.section}.${option.key}`;
}

/** The map of a rule in which a section lies: `value` of `tables[].value`, empty for the rule itself; undefined elsewhere. */
export function ruleSection(section: Section): string | undefined {
  if (section === 'tables[]') return '';
  return section.startsWith('tables[].') ? section.slice('tables[].'.length) : undefined;
}
