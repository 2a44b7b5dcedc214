import { MAX_DEPTH, MAX_NUMBER_DIGITS, SparkSyntaxError } from './spark-syntax.ts';

/** What a value is in the text that Spark's from_json reads. */
export type SparkNode =
  | { kind: 'object'; members: { name: string; value: SparkNode }[] }
  | { kind: 'list'; items: SparkNode[] }
  | { kind: 'string'; text: string }
  /** `integer`: a token without a point and an exponent. NaN and infinities are floating tokens too. */
  | { kind: 'number'; source: string; integer: boolean }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'null' };

/**
 * The grammar that from_json reads by (Jackson's parser with Spark's options): RFC 8259 with strings and names in single
 * quotes, NaN, Infinity and +-INF, and nothing looked at behind the document. Undefined for a text of white space.
 */
export function readSparkTree(text: string): SparkNode | undefined {
  return new TreeReader(text).readDocument();
}

const ESCAPES: Record<string, string> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class TreeReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): SparkNode | undefined {
    this.#skipSpace();
    return this.#at === this.#text.length ? undefined : this.#readValue();
  }

  #fail(what: string): never {
    throw new SparkSyntaxError(what, this.#at);
  }

  #skipSpace(): void {
    const text = this.#text;
    for (;;) {
      const unit = text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.#at++;
    }
  }

  #readValue(): SparkNode {
    const char = this.#text[this.#at];
    switch (char) {
      case '{':
        return this.#readObject();
      case '[':
        return this.#readList();
      case '"':
      case "'":
        return this.#readString();
      case 't':
        return this.#readWord('true', { kind: 'boolean', value: true });
      case 'f':
        return this.#readWord('false', { kind: 'boolean', value: false });
      case 'n':
        return this.#readWord('null', { kind: 'null' });
      default:
        return this.#readNumber();
    }
  }

  #readWord(word: string, node: SparkNode): SparkNode {
    if (!this.#text.startsWith(word, this.#at) || isWordPart(this.#text[this.#at + word.length]))
      this.#fail(`expected ${word}`);
    this.#at += word.length;
    return node;
  }

  #readNumber(): SparkNode {
    const text = this.#text;
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(text);
    if (match !== null) {
      const source = match[0];
      if (source.length > MAX_NUMBER_DIGITS && source.replace(/^-?0?|\D/g, '').length > MAX_NUMBER_DIGITS)
        this.#fail('a number of more than 1000 digits');
      this.#at += source.length;
      return { kind: 'number', source, integer: match[1] === undefined && match[2] === undefined };
    }
    NOT_A_NUMBER.lastIndex = this.#at;
    const word = NOT_A_NUMBER.exec(text)?.[0];
    if (word === undefined || isWordPart(text[this.#at + word.length])) this.#fail('expected a value');
    this.#at += word.length;
    const sign = word.startsWith('-') ? '-' : '';
    return { kind: 'number', source: word === 'NaN' ? 'NaN' : `${sign}Infinity`, integer: false };
  }

  #enter(): void {
    this.#at++;
    if (++this.#depth > MAX_DEPTH) this.#fail('nested deeper than 1000 levels');
    this.#skipSpace();
  }

  #readObject(): SparkNode {
    this.#enter();
    const members: { name: string; value: SparkNode }[] = [];
    if (this.#text[this.#at] !== '}') {
      for (;;) {
        const quote = this.#text[this.#at];
        if (quote !== '"' && quote !== "'") this.#fail('expected a name in quotes');
        const name = this.#readString().text;
        this.#skipSpace();
        if (this.#text[this.#at] !== ':') this.#fail("expected ':'");
        this.#at++;
        this.#skipSpace();
        members.push({ name, value: this.#readValue() });
        if (this.#endOf('}')) break;
      }
    }
    this.#at++;
    this.#depth--;
    return { kind: 'object', members };
  }

  #readList(): SparkNode {
    this.#enter();
    const items: SparkNode[] = [];
    if (this.#text[this.#at] !== ']') {
      do items.push(this.#readValue());
      while (!this.#endOf(']'));
    }
    this.#at++;
    this.#depth--;
    return { kind: 'list', items };
  }

  /** Behind a member or an item: true at the container's end, false behind a comma. */
  #endOf(close: string): boolean {
    this.#skipSpace();
    const char = this.#text[this.#at];
    if (char === close) return true;
    if (char !== ',') this.#fail(`expected ',' or '${close}'`);
    this.#at++;
    this.#skipSpace();
    return false;
  }

  #readString(): { kind: 'string'; text: string } {
    const text = this.#text;
    const quote = text[this.#at];
    let copied = ++this.#at;
    let value = '';
    for (;;) {
      const char = text[this.#at];
      if (char === quote) break;
      if (char === undefined) this.#fail('a string without an end');
      if (char < ' ') this.#fail('a control character in a string');
      if (char !== '\\') {
        this.#at++;
        continue;
      }
      value += text.slice(copied, this.#at) + this.#readEscape();
      copied = this.#at;
    }
    value += text.slice(copied, this.#at++);
    return { kind: 'string', text: value };
  }

  #readEscape(): string {
    const letter = this.#text[this.#at + 1];
    if (letter === 'u') {
      const hex = this.#text.slice(this.#at + 2, this.#at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) this.#fail('expected four hexadecimal digits');
      this.#at += 6;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const char = Object.hasOwn(ESCAPES, letter ?? '') ? ESCAPES[letter] : undefined;
    if (char === undefined) this.#fail('expected an escape of JSON');
    this.#at += 2;
    return char;
  }
}

const NUMBER = /-?(?:0(?![0-9])|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const NOT_A_NUMBER = /NaN|[+-]INF(?!inity)|[+-]?Infinity/y;

function isWordPart(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_$]/u.test(char);
}
