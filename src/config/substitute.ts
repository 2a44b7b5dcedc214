import type { FaultCode } from './fault.ts';

export interface SubstitutionFault {
  code: FaultCode;
  message: string;
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)(.*))?$/s;

/**
 * Puts variables into one scalar: `${VAR}`, `${VAR:-default}` and `${VAR:?message}` (the last two act where VAR is not
 * set or empty, as in a shell), `$${` for a plain `${`. It works on values that YAML has read already, so that a value
 * with quotes or colons cannot change the file. What a variable holds is not looked at again. The values never appear
 * in messages.
 */
export function substitute(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  placeholders: readonly string[] = [],
): { text: string; faults: SubstitutionFault[] } {
  const faults: SubstitutionFault[] = [];
  let out = '';
  let at = 0;
  for (;;) {
    const begin = text.indexOf('${', at);
    if (begin < 0) return { text: out + text.slice(at), faults };
    if (begin > at && text[begin - 1] === '$') {
      out += `${text.slice(at, begin - 1)}\${`;
      at = begin + 2;
      continue;
    }
    out += text.slice(at, begin);
    const end = text.indexOf('}', begin);
    if (end < 0) {
      faults.push({
        code: 'VARIABLE_SYNTAX',
        message: 'a ${ without its }; write $${ for the two characters themselves',
      });
      return { text, faults };
    }
    const inner = text.slice(begin + 2, end);
    const value = placeholders.includes(inner) ? `\${${inner}}` : variable(inner, env, faults);
    out += value;
    at = end + 1;
  }
}

function variable(
  inner: string,
  env: Readonly<Record<string, string | undefined>>,
  faults: SubstitutionFault[],
): string {
  const match = VARIABLE.exec(inner);
  if (match === null || match[3]?.includes('${')) {
    faults.push({
      code: 'VARIABLE_SYNTAX',
      message:
        'expected ${VAR}, ${VAR:-default} or ${VAR:?message}, not nested; write $${ for the two characters themselves',
    });
    return '';
  }
  const [, name, operator, rest] = match;
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (operator === undefined) {
    if (value === undefined)
      faults.push({
        code: 'VARIABLE_UNSET',
        message: `the variable ${name} is not set; set it, or write \${${name}:-default}`,
      });
    return value ?? '';
  }
  if (value !== undefined && value !== '') return value;
  if (operator === ':-') return rest;
  faults.push({
    code: 'VARIABLE_UNSET',
    message: `the variable ${name} is not set: ${rest === '' ? 'it is required' : rest}`,
  });
  return '';
}
