const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Finds a field of a plain JSON object several times faster than `JSON.parse`: one without nesting, escapes and white space
 * other than spaces. Returns the JSON of the field's value (of the last one, where the field is there twice), null where
 * the object lacks the field, and undefined where the text is anything else, valid or not: then `JSON.parse` has to tell.
 *
 * `quotedField` is the field's name as JSON, with its quotes.
 */
export function flatField(text: string, quotedField: string): string | null | undefined {
  if (text.charCodeAt(0) !== OPEN) return undefined;
  let found: string | null = null;
  let at = skipSpaces(text, 1);
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return undefined;
    const nameEnd = stringEnd(text, at);
    if (nameEnd < 0) return undefined;
    const isField = nameEnd - at === quotedField.length && text.startsWith(quotedField, at);
    at = skipSpaces(text, nameEnd);
    if (text.charCodeAt(at) !== COLON) return undefined;
    const valueStart = skipSpaces(text, at + 1);
    const valueEnd = scalarEnd(text, valueStart);
    if (valueEnd < 0) return undefined;
    if (isField) found = text.slice(valueStart, valueEnd);
    at = skipSpaces(text, valueEnd);
    if (text.charCodeAt(at) !== COMMA) break;
    at = skipSpaces(text, at + 1);
  }
  return text.charCodeAt(at) === CLOSE && skipSpaces(text, at + 1) === text.length ? found : undefined;
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 0x20) at++;
  return at;
}

/** Where the string, number or word of JSON that begins here ends; -1 where none does. */
function scalarEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return stringEnd(text, at);
  if (first === MINUS || isDigit(first)) return numberEnd(text, at);
  for (const word of WORDS) if (text.startsWith(word, at)) return at + word.length;
  return -1;
}

/** -1 for a string with an escape or a control character, and where the text ends first. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < 0x20 || code === BACKSLASH) return -1;
  }
  return -1;
}

const WORDS = ['null', 'true', 'false'];

/** Numbers with an exponent are left to `JSON.parse`. */
function numberEnd(text: string, from: number): number {
  const first = text.charCodeAt(from) === MINUS ? from + 1 : from;
  const whole = digitsEnd(text, first);
  if (whole === first || (text.charCodeAt(first) === 0x30 && whole > first + 1)) return -1;
  if (text.charCodeAt(whole) !== POINT) return whole;
  const end = digitsEnd(text, whole + 1);
  return end === whole + 1 ? -1 : end;
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
