/** The words of DDL as Spark's SQL has them. */
import { placeAt, schemaFault } from './schema-fault.ts';

export interface DdlToken {
  /** `name` is in backquotes, `text` a string literal, `symbol` any other single character. */
  kind: 'word' | 'name' | 'number' | 'text' | 'symbol' | 'end';
  /** The name or the text without quotes and escapes; anything else as it is written. */
  value: string;
  /** Where it begins in the text. */
  at: number;
  /** Where it ends. */
  end: number;
}

const SPACE = /\s+/y;
const NUMBER = /(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?(?![A-Za-z0-9_])/y;
const WORD = /[A-Za-z0-9_]+/y;

/** The tokens of a text, the last one of the kind `end`. Throws CONFIG_INVALID for a quote or a comment without end. */
export function ddlTokens(text: string): DdlToken[] {
  const tokens: DdlToken[] = [];
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    const token = nextToken(text, at);
    tokens.push(token);
    if (token.kind === 'end') return tokens;
    at = token.end;
  }
}

function nextToken(text: string, at: number): DdlToken {
  if (at >= text.length) return { kind: 'end', value: '', at, end: at };
  const char = text[at];
  if (char === '`') return quotedName(text, at);
  if (char === "'" || char === '"') return stringLiteral(text, at, at);
  if ((char === 'r' || char === 'R') && (text[at + 1] === "'" || text[at + 1] === '"'))
    return rawString(text, at);
  const number = matchAt(NUMBER, text, at);
  if (number !== undefined) return { kind: 'number', value: number, at, end: at + number.length };
  const word = matchAt(WORD, text, at);
  if (word !== undefined) return { kind: 'word', value: word, at, end: at + word.length };
  const symbol = String.fromCodePoint(text.codePointAt(at)!);
  return { kind: 'symbol', value: symbol, at, end: at + symbol.length };
}

/** The first place from `at` on that is neither white space nor in a comment: `-- to the end of the line`, and nested brackets. */
function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    at += matchAt(SPACE, text, at)?.length ?? 0;
    if (text.startsWith('--', at)) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end + 1;
    } else if (text.startsWith('/*', at)) {
      at = bracketedCommentEnd(text, at);
    } else {
      return at;
    }
  }
}

function bracketedCommentEnd(text: string, from: number): number {
  let depth = 1;
  let at = from + 2;
  while (depth > 0) {
    const close = text.indexOf('*/', at);
    if (close === -1) throw fault(text, from, 'this comment has no end; close it with */');
    const open = text.indexOf('/*', at);
    const opens = open !== -1 && open < close;
    depth += opens ? 1 : -1;
    at = (opens ? open : close) + 2;
  }
  return at;
}

function quotedName(text: string, at: number): DdlToken {
  let value = '';
  let from = at + 1;
  for (;;) {
    const close = text.indexOf('`', from);
    if (close === -1) throw fault(text, at, 'this backquote is not closed');
    value += text.slice(from, close);
    if (text[close + 1] !== '`') return { kind: 'name', value, at, end: close + 1 };
    value += '`';
    from = close + 2;
  }
}

function rawString(text: string, at: number): DdlToken {
  const close = text.indexOf(text[at + 1], at + 2);
  if (close === -1) throw fault(text, at, 'this text is not closed');
  return { kind: 'text', value: text.slice(at + 2, close), at, end: close + 1 };
}

function stringLiteral(text: string, at: number, open: number): DdlToken {
  const quote = text[open];
  const parts: string[] = [];
  let from = open + 1;
  let i = from;
  for (; ; i++) {
    if (i >= text.length) throw fault(text, at, 'this text is not closed');
    const char = text[i];
    if (char !== quote && char !== '\\') continue;
    parts.push(text.slice(from, i));
    if (char === quote) {
      if (text[i + 1] !== quote) return { kind: 'text', value: parts.join(''), at, end: i + 1 };
      parts.push(quote);
      i++;
    } else {
      const { value, length } = escapeAt(text, i);
      parts.push(value);
      i += length - 1;
    }
    from = i + 1;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  b: '\b',
  n: '\n',
  r: '\r',
  t: '\t',
  Z: '\x1a',
  // Spark keeps the backslash of these two, which mean something to LIKE.
  '%': '\\%',
  _: '\\_',
};
const NUMBERED_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2}))/y;

/** What an escape stands for, and its length with the backslash. */
function escapeAt(text: string, at: number): { value: string; length: number } {
  NUMBERED_ESCAPE.lastIndex = at;
  const match = NUMBERED_ESCAPE.exec(text);
  if (match !== null) {
    const code =
      match[3] === undefined ? Number.parseInt(match[1] ?? match[2], 16) : Number.parseInt(match[3], 8);
    if (code > 0x10ffff) throw fault(text, at, `${match[0]} is beyond the last character of Unicode`);
    return { value: String.fromCodePoint(code), length: match[0].length };
  }
  const char = text[at + 1] ?? '';
  return { value: ESCAPES[char] ?? char, length: 2 };
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function fault(text: string, at: number, message: string) {
  return schemaFault(message, placeAt(text, at));
}
