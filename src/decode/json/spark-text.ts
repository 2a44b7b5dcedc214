import type { SparkNode } from './spark-tree.ts';

/**
 * A value as the text that from_json puts into a string column: written anew by Jackson, without white space, floating
 * numbers as doubles in Java's form. `exact` keeps the texts of numbers. Undefined where Jackson cannot write it (half of a
 * surrogate pair).
 */
export function sparkText(node: SparkNode, exact: boolean): string | undefined {
  try {
    return textOf(node, exact);
  } catch (e) {
    if (e === LONE_SURROGATE) return undefined;
    throw e;
  }
}

const LONE_SURROGATE = new Error('half of a surrogate pair');

function textOf(node: SparkNode, exact: boolean): string {
  switch (node.kind) {
    case 'object':
      return `{${node.members.map((m) => `${quoted(m.name)}:${textOf(m.value, exact)}`).join(',')}}`;
    case 'list':
      return `[${node.items.map((item) => textOf(item, exact)).join(',')}]`;
    case 'string':
      return quoted(node.text);
    case 'number':
      return numberText(node.source, node.integer, exact);
    case 'boolean':
      return String(node.value);
    default:
      return 'null';
  }
}

function numberText(source: string, integer: boolean, exact: boolean): string {
  if (integer) return source === '-0' && !exact ? '0' : source;
  const value = Number(source);
  const isToken = !/^(?:NaN|-?Infinity)$/.test(source);
  if (exact && isToken) return source;
  return Number.isFinite(value) ? javaDouble(value) : `"${value}"`;
}

/** Control characters as Jackson escapes them: by letters, or with hexadecimal digits in capitals. */
function quoted(text: string): string {
  if (!text.isWellFormed()) throw LONE_SURROGATE;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON must escape
  const escaped = text.replace(/["\\\u0000-\u001f]/g, (char) => {
    const letter = LETTERS[char];
    return letter ?? `\\u00${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return `"${escaped}"`;
}

const LETTERS: Record<string, string | undefined> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** `Double.toString` of Java 19 and newer: the shortest digits, a point always, an exponent below 1e-3 and from 1e7 on. */
export function javaDouble(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [mantissa, exponent] = value.toExponential().split('e');
  return `${mantissa.includes('.') ? mantissa : `${mantissa}.0`}E${Number(exponent)}`;
}
