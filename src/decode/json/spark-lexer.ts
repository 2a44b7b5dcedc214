import { MAX_DEPTH, MAX_NUMBER_DIGITS, SparkSyntaxError } from './spark-syntax.ts';

export type SparkToken =
  | 'START_OBJECT'
  | 'END_OBJECT'
  | 'START_ARRAY'
  | 'END_ARRAY'
  | 'FIELD_NAME'
  | 'STRING'
  | 'INTEGER'
  | 'FLOAT'
  | 'TRUE'
  | 'FALSE'
  | 'NULL';

/** What is open: nothing, an array or an object, and how far it is. */
interface Scope {
  kind: 'root' | 'array' | 'object';
  entries: number;
  name: string | null;
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

/**
 * The tokens of a text as Jackson's parser of characters gives them with the options of Spark: strings and names in single
 * quotes, NaN and infinities, no comments. What matters here beyond the grammar is where it stands after an error, because
 * Spark goes on reading then: a text that is broken inside of a struct keeps the fields before it. So a value's first
 * token is read along with its name, strings in double quotes are read only when they are asked for, and an error leaves
 * everything as it is at that moment. (ReaderBasedJsonParser of jackson-core 2.21.)
 */
export class SparkLexer {
  token: SparkToken | null = null;
  /** Of a number token. */
  source = '';
  /** Where the present value begins. */
  valueAt = 0;
  /** The next character that will be read. */
  at = 0;

  readonly #text: string;
  readonly #scopes: Scope[] = [{ kind: 'root', entries: 0, name: null }];
  #next: SparkToken | null = null;
  /** A string in double quotes stands open. */
  #incomplete = false;
  #string = '';

  constructor(text: string) {
    this.#text = text;
  }

  get #scope(): Scope {
    return this.#scopes[this.#scopes.length - 1];
  }

  /** The name that a token belongs to: of starts it is that of the scope around them. */
  get name(): string | null {
    const isStart = this.token === 'START_OBJECT' || this.token === 'START_ARRAY';
    return this.#scopes[this.#scopes.length - (isStart ? 2 : 1)].name;
  }

  /** The next token, or null at the end of the text, and behind a name whose value could not be read. */
  nextToken(): SparkToken | null {
    if (this.token === 'FIELD_NAME') {
      this.token = this.#next;
      this.#next = null;
      this.#openScope();
      return this.token;
    }
    if (this.#incomplete) this.#skipString();
    let char = this.#skipSpaceOrEnd();
    if (char === '') {
      this.token = null;
      return null;
    }
    if (char === '}' || char === ']') return this.#closeScope(char);
    const scope = this.#scope;
    if (scope.entries++ > 0 && scope.kind !== 'root') char = this.#skipComma(char);
    if (scope.kind !== 'object') {
      this.token = this.#readValue(char);
      this.#openScope();
      return this.token;
    }
    scope.name = this.#readName(char);
    this.token = 'FIELD_NAME';
    this.#next = this.#readValue(this.#skipColon());
    return this.token;
  }

  /** Goes to the end of the array or object that has just begun. True where it holds more than nulls and empty ones. */
  skipChildren(): boolean {
    if (this.token !== 'START_OBJECT' && this.token !== 'START_ARRAY') return false;
    let content = false;
    for (let open = 1; open > 0; ) {
      const token = this.nextToken();
      if (token === null) this.#failEnd();
      if (token === 'START_OBJECT' || token === 'START_ARRAY') open++;
      else if (token === 'END_OBJECT' || token === 'END_ARRAY') open--;
      else if (token !== 'FIELD_NAME' && token !== 'NULL') content = true;
    }
    return content;
  }

  /** The text of a string token. */
  get string(): string {
    if (this.#incomplete) {
      this.#incomplete = false;
      this.#string = this.#readString('"');
    }
    return this.#string;
  }

  #fail(what: string): never {
    throw new SparkSyntaxError(what, this.at);
  }

  #failEnd(): never {
    this.#fail('the text ends too early');
  }

  #openScope(): void {
    const { token } = this;
    if (token !== 'START_OBJECT' && token !== 'START_ARRAY') return;
    this.#scopes.push({ kind: token === 'START_ARRAY' ? 'array' : 'object', entries: 0, name: null });
    if (this.#scopes.length - 1 > MAX_DEPTH) this.#fail('nested deeper than 1000 levels');
  }

  #closeScope(char: string): SparkToken {
    if (this.#scope.kind !== (char === ']' ? 'array' : 'object')) this.#fail(`an unexpected ${char}`);
    this.#scopes.pop();
    this.token = char === ']' ? 'END_ARRAY' : 'END_OBJECT';
    return this.token;
  }

  /** The next character that is no white space; empty at the end of the text. */
  #nextChar(): string {
    for (;;) {
      const char = this.#text[this.at];
      if (char === undefined) return '';
      this.at++;
      if (char > ' ') return char;
      if (char !== ' ' && char !== '\n' && char !== '\r' && char !== '\t') this.#fail('a control character');
    }
  }

  #skipSpaceOrEnd(): string {
    const char = this.#nextChar();
    if (char === '' && this.#scope.kind !== 'root') this.#failEnd();
    if (char === '/' || char === '#') this.#failChar(char);
    return char;
  }

  #skipComma(char: string): string {
    if (char !== ',') this.#failChar(char);
    const next = this.#nextChar();
    if (next === '') this.#failEnd();
    return next;
  }

  #skipColon(): string {
    const colon = this.#nextChar();
    if (colon !== '' && colon !== ':') this.#failChar(colon);
    const char = colon === '' ? '' : this.#nextChar();
    if (char === '') this.#failEnd();
    return char;
  }

  #failChar(char: string): never {
    this.#fail(`an unexpected ${char}`);
  }

  #readName(char: string): string {
    if (char !== '"' && char !== "'") this.#failChar(char);
    return this.#readString(char);
  }

  /** A value's first token; the character has been read. */
  #readValue(char: string): SparkToken {
    this.valueAt = this.at - 1;
    switch (char) {
      case '"':
        this.#incomplete = true;
        return 'STRING';
      case "'":
        this.#string = this.#readString("'");
        return 'STRING';
      case '[':
        return 'START_ARRAY';
      case '{':
        return 'START_OBJECT';
      case 't':
        return this.#readWord('true', 'TRUE');
      case 'f':
        return this.#readWord('false', 'FALSE');
      case 'n':
        return this.#readWord('null', 'NULL');
      case 'N':
        return this.#readNamed('NaN', 1, 'NaN');
      case 'I':
        return this.#readNamed('Infinity', 1, 'Infinity');
      case '+':
        return this.#readSigned('+');
      default:
        if (char === '-' || isDigit(char)) return this.#readNumber(char);
        if (isIdentifierPart(char)) this.#failWord();
        this.#failChar(char);
    }
  }

  #readWord(word: string, token: SparkToken): SparkToken {
    this.#matchWord(word, 1);
    return token;
  }

  #readNamed(word: string, from: number, source: string): SparkToken {
    this.#matchWord(word, from);
    this.source = source;
    return 'FLOAT';
  }

  #matchWord(word: string, from: number): void {
    for (let i = from; i < word.length; i++) {
      if (this.#text[this.at] !== word[i]) this.#failWord();
      this.at++;
    }
    const behind = this.#text[this.at];
    if (behind !== undefined && behind >= '0' && isIdentifierPart(behind)) this.#failWord();
  }

  /** What looks like a word is read to its end before the error. */
  #failWord(): never {
    for (let length = 0; length < 256 && isIdentifierPart(this.#text[this.at]); length++) this.at++;
    this.#fail('an unknown word');
  }

  /** +INF, -INF, +Infinity, -Infinity; the sign has been read. */
  #readSigned(sign: string): SparkToken {
    const char = this.#text[this.at++] ?? this.#failAtEnd();
    if (char === 'I') {
      const second = this.#text[this.at++] ?? this.#failAtEnd();
      const source = sign === '-' ? '-Infinity' : 'Infinity';
      if (second === 'N') return this.#readNamed(`${sign}INF`, 3, source);
      if (second === 'n') return this.#readNamed(`${sign}Infinity`, 3, source);
    }
    this.#failChar(char);
  }

  #failAtEnd(): never {
    this.at = this.#text.length;
    this.#failEnd();
  }

  #readNumber(char: string): SparkToken {
    const text = this.#text;
    const from = this.at - 1;
    if (char === '-' && !isDigit(text[this.at])) return this.#readSigned('-');
    NUMBER.lastIndex = from;
    const match = NUMBER.exec(text) as RegExpExecArray;
    const [source, whole, fraction, exponent] = match;
    this.at = from + source.length;
    if (whole === '0' && isDigit(text[this.at]) && fraction === undefined && exponent === undefined)
      this.#fail('a number with a leading zero');
    if (fraction === '.' || (exponent !== undefined && !isDigit(exponent[exponent.length - 1]))) {
      // Behind a first zero the character that is none of a number has been read, else the point or the e.
      this.at = whole === '0' ? this.at + 1 : text.indexOf(whole, from) + whole.length + 1;
      this.#fail('a number without its digits');
    }
    const digits = (whole === '0' ? '' : whole) + (fraction ?? '') + (exponent ?? '');
    if (source.length > MAX_NUMBER_DIGITS && digits.replace(/\D/g, '').length > MAX_NUMBER_DIGITS)
      this.#fail('a number of more than 1000 digits');
    this.source = source;
    return fraction === undefined && exponent === undefined ? 'INTEGER' : 'FLOAT';
  }

  /** The rest of a string or a name, up to its quote. */
  #readString(quote: string): string {
    const text = this.#text;
    let value = '';
    let copied = this.at;
    for (;;) {
      const char = text[this.at];
      if (char === undefined) this.#failEnd();
      this.at++;
      if (char === quote) return value + text.slice(copied, this.at - 1);
      if (char < ' ') this.#fail('a control character in a string');
      if (char !== '\\') continue;
      value += text.slice(copied, this.at - 1) + this.#readEscape();
      copied = this.at;
    }
  }

  #skipString(): void {
    this.#incomplete = false;
    this.#readString('"');
  }

  /** The character of an escape; its backslash has been read. */
  #readEscape(): string {
    const letter = this.#text[this.at];
    if (letter === undefined) this.#failEnd();
    this.at++;
    if (letter !== 'u') {
      if (!Object.hasOwn(ESCAPES, letter)) this.#failChar(letter);
      return ESCAPES[letter];
    }
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const char = this.#text[this.at];
      if (char === undefined) this.#failEnd();
      this.at++;
      if (!/[0-9a-fA-F]/.test(char)) this.#failChar(char);
      unit = unit * 16 + Number.parseInt(char, 16);
    }
    return String.fromCharCode(unit);
  }

  /** The bytes of a string token that is base64: groups of four with their padding, white space before a group. */
  get binary(): Uint8Array {
    if (!this.#incomplete) {
      const lexer = new SparkLexer(`${this.#string}"`);
      lexer.#incomplete = true;
      return lexer.binary;
    }
    const groups: Buffer[] = [];
    for (let group = this.#base64Group(); group !== undefined; group = this.#base64Group())
      groups.push(Buffer.from(group, 'base64'));
    this.#incomplete = false;
    return Buffer.concat(groups);
  }

  /** The next group of a string in base64; undefined at its quote. An error leaves the string open. */
  #base64Group(): string | undefined {
    let first = this.#base64Char(0);
    while (first === '') first = this.#base64Char(0);
    if (first === '"') return undefined;
    const second = this.#base64Char(1);
    const third = this.#base64Char(2);
    if (third === '=') {
      if (this.#base64Char(4) !== '=') this.#fail('base64 without its padding');
      return `${first}${second}==`;
    }
    return `${first}${second}${third}${this.#base64Char(3)}`;
  }

  /** A character at a place of its group (4: the second of padding); empty for white space, a quote at the end. */
  #base64Char(place: number): string {
    let char = this.#text[this.at] ?? this.#failEnd();
    this.at++;
    if (place === 0 && (char <= ' ' || char === '"')) return char === '"' ? char : '';
    if (char === '"' && (place === 2 || place === 3)) {
      this.at--;
      this.#fail('base64 without its padding');
    }
    if (char === '\\') {
      char = this.#readEscape();
      if (char <= ' ' && place === 0) return '';
    }
    const isPadding = char === '=' && place >= 2;
    if (!isPadding && !/[A-Za-z0-9+/]/.test(char)) this.#fail('a character that is not of base64');
    return char;
  }
}

const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]*)?((?<!\.)[eE][+-]?[0-9]*)?/y;

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}

/** `Character.isJavaIdentifierPart`, near enough for the words that stand in broken texts. */
function isIdentifierPart(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}\p{Pc}\p{Sc}\p{Mn}\p{Mc}]/u.test(char);
}
