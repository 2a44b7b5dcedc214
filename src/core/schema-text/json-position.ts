/** Where the value at a path begins in a text that is JSON. For messages: a path that leads nowhere ends at its last known step. */
export function jsonPosition(text: string, path: readonly (string | number)[]): number {
  let at = skipSpace(text, 0);
  for (const step of path) {
    const found = typeof step === 'number' ? itemAt(text, at, step) : memberAt(text, at, step);
    if (found === undefined) return at;
    at = found;
  }
  return at;
}

function itemAt(text: string, open: number, index: number): number | undefined {
  if (text[open] !== '[') return undefined;
  let at = skipSpace(text, open + 1);
  for (let i = 0; text[at] !== ']'; i++) {
    if (i === index) return at;
    at = skipSpace(text, valueEnd(text, at));
    if (text[at] !== ',') return undefined;
    at = skipSpace(text, at + 1);
  }
  return undefined;
}

/** The last one of the name, as JSON.parse takes it. */
function memberAt(text: string, open: number, name: string): number | undefined {
  if (text[open] !== '{') return undefined;
  let found: number | undefined;
  let at = skipSpace(text, open + 1);
  while (text[at] === '"') {
    const keyEnd = valueEnd(text, at);
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (JSON.parse(text.slice(at, keyEnd)) === name) found = value;
    at = skipSpace(text, valueEnd(text, value));
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  return found;
}

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]*/y;

function skipSpace(text: string, at: number): number {
  return at + matched(SPACE, text, at);
}

/** The place behind the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; ) {
    const char = text[i];
    if (char === '"') i += Math.max(1, matched(STRING, text, i));
    else if (char === '{' || char === '[') {
      depth++;
      i++;
    } else if (char === '}' || char === ']') {
      depth--;
      i++;
    } else if (depth === 0) return i + Math.max(1, matched(SCALAR, text, i));
    else i++;
    if (depth === 0) return i;
  }
  return text.length;
}

function matched(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
