const SPACE = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has no control characters in its texts.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Where a text stops being JSON, and what should stand there: JSON.parse does not always say. Undefined where it is JSON. */
export function jsonSyntaxFault(text: string): { at: number; expected: string } | undefined {
  const open: ('{' | '[')[] = [];
  /** What comes next: a value, the first member or item or the end of what was opened, a key, or what follows a value. */
  let state: 'value' | 'first' | 'key' | 'after' = 'value';
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length ?? 0;
    at += length;
    return length > 0;
  };
  const takeChar = (char: string): boolean => {
    const there = text[at] === char;
    if (there) at++;
    return there;
  };
  for (;;) {
    take(SPACE);
    const inside = open.at(-1);
    const close = inside === '{' ? '}' : ']';
    if (state === 'after') {
      if (inside === undefined) return at === text.length ? undefined : { at, expected: 'the end' };
      if (takeChar(',')) state = inside === '{' ? 'key' : 'value';
      else if (takeChar(close)) open.pop();
      else return { at, expected: `a comma or ${close}` };
    } else if (state === 'first' && takeChar(close)) {
      open.pop();
      state = 'after';
    } else if (state === 'key' || (state === 'first' && inside === '{')) {
      if (!take(STRING)) return { at, expected: 'a name in double quotes' };
      take(SPACE);
      if (!takeChar(':')) return { at, expected: 'a colon' };
      state = 'value';
    } else if (text[at] === '{' || text[at] === '[') {
      open.push(text[at++] as '{' | '[');
      state = 'first';
    } else if (take(STRING) || take(SCALAR)) {
      state = 'after';
    } else {
      return { at, expected: 'a value' };
    }
  }
}
