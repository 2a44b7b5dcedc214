import { SluiceError } from '../errors.ts';

/** What can be wrong with a pipeline file; the codes are stable. */
export const FAULT_CODES = {
  YAML_SYNTAX: 'The text is not YAML.',
  DUPLICATE_KEY: 'A key stands twice in one map.',
  KEY_NOT_TEXT: 'A key is not a text (a list, a map, nothing).',
  TOO_LARGE: 'The file is larger, deeper or more repeated (by aliases) than a pipeline file can be.',
  MODULE_FAILED: 'A `sluice.config.ts` or `.js` could not be imported, or its default export is no pipeline.',
  UNKNOWN_OPTION: 'There is no option of that name.',
  MISSING_OPTION: 'An option that has no default is not given.',
  WRONG_VALUE: 'A value has the wrong type or is out of its range.',
  CONTRADICTION: 'Two options cannot stand together, or do not agree.',
  UNSUPPORTED: 'The option is known, but this version does not do what it asks for.',
  VARIABLE_UNSET: 'A `${VAR}` names a variable that is not set.',
  VARIABLE_SYNTAX: 'A `${...}` is not closed, or is none of the three forms.',
  SECRET_UNAVAILABLE: 'A secret (`env:`, `file:`, `exec:`) could not be read.',
  LINT: 'A warning: the pipeline runs, but probably not as wanted.',
  NO_EFFECT: 'A warning: the option is accepted and changes nothing in this version.',
} as const satisfies Record<string, string>;

export type FaultCode = keyof typeof FAULT_CODES;

/** Where something stands: lines and columns count from 1. `file` is `--set` or the name of a variable for those. */
export interface Position {
  file: string;
  line: number;
  column: number;
}

export interface Fault extends Position {
  code: FaultCode;
  /** What is wrong, what was expected and found, what to do; without the position. */
  message: string;
  /** The option: `source.startingOffsets`, `tables[0].match`; empty for the file as a whole. */
  path: string;
  /** The known name that is nearest to an unknown one. */
  nearest?: string;
}

/** `file:line:column CODE path: message`, the line a person and an editor can follow. */
export function formatFault(fault: Fault): string {
  const path = fault.path === '' ? '' : `${fault.path}: `;
  return `${fault.file}:${fault.line}:${fault.column} ${fault.code} ${path}${fault.message}`;
}

/** CONFIG_INVALID with every fault in the message and in `context.faults`. */
export function configInvalid(file: string, faults: Fault[]): SluiceError {
  const sorted = [...faults].sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : 0));
  const count = sorted.length === 1 ? 'one fault' : `${sorted.length} faults`;
  const lines = sorted.map((fault) => `  ${formatFault(fault)}`).join('\n');
  return new SluiceError('CONFIG_INVALID', `${file} has ${count}:\n${lines}`, {
    context: { file, faults: sorted },
  });
}

/** How checks tell what they find. */
export type Report = (code: FaultCode, path: Path, message: string) => void;

export type Path = readonly (string | number)[];

/** `['tables', 0, 'match']` as `tables[0].match`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : text === '' ? part : `.${part}`;
  return text;
}
