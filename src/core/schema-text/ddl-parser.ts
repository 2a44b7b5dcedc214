/**
 * Column lists in Spark's DDL (SqlBaseParser.g4, `colTypeList` and `colDefinitionOption`): name, an optional colon,
 * type, then NOT NULL, DEFAULT literal and COMMENT text in any order. Beyond Spark's: Iceberg's own types by name, and
 * NOT NULL behind the element of an ARRAY and the value of a MAP.
 */
import type { IcebergType, NestedField, StructType } from '../schema.ts';
import { type DdlToken, ddlTokens } from './ddl-lexer.ts';
import { defaultOfLiteral, type Literal } from './default-literal.ts';
import { placeAt, SCHEMA_LIMITS, schemaFault } from './schema-fault.ts';
import { ddlTypeName, namedType, unknownType, wrongTypeName } from './type-names.ts';

/** The columns of a text, all field ids 0. A text that is one `STRUCT<...>` stands for its fields. Throws CONFIG_INVALID. */
export function parseDdl(text: string): StructType {
  return new DdlParser(text).schema();
}

/** A literal as `DEFAULT` takes it, the whole text. Throws CONFIG_INVALID. */
export function parseLiteral(text: string): Literal {
  return new DdlParser(text).wholeLiteral();
}

const MOMENTS: ReadonlySet<string> = new Set(['DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMP_NTZ', 'TIMESTAMP_LTZ']);

class DdlParser {
  private readonly text: string;
  private readonly tokens: DdlToken[];
  private next = 0;
  private fields = 0;

  constructor(text: string) {
    this.text = text;
    this.tokens = ddlTokens(text);
  }

  schema(): StructType {
    if (this.isWord('STRUCT') && this.isSymbol('<', 1)) {
      const type = this.type(0);
      this.expectEnd('the end, behind the STRUCT');
      return type as StructType;
    }
    const fields = this.columns(0);
    this.expectEnd('a comma, NOT NULL, DEFAULT, COMMENT or the end');
    return { type: 'struct', fields };
  }

  wholeLiteral(): Literal {
    const literal = this.literal();
    this.expectEnd('the end');
    return literal;
  }

  private columns(depth: number): NestedField[] {
    const fields = [this.column(depth)];
    while (this.takeSymbol(',')) fields.push(this.column(depth));
    return fields;
  }

  private column(depth: number): NestedField {
    const at = this.token;
    const name = this.columnName();
    if (++this.fields > SCHEMA_LIMITS.fields)
      throw this.fault(at, `more than ${SCHEMA_LIMITS.fields} columns; a table has fewer`);
    this.takeSymbol(':');
    const type = this.type(depth);
    return { id: 0, name, ...this.options(name, type) };
  }

  private columnName(): string {
    const { token } = this;
    if (token.kind === 'number')
      throw this.fault(
        token,
        `expected the name of a column, found ${token.value}; put it in backquotes: \`${token.value}\``,
      );
    if (token.kind !== 'word' && token.kind !== 'name') throw this.expected('the name of a column');
    if (token.value === '') throw this.fault(token, 'a column has no name: the backquotes are empty');
    if (token.value.length > SCHEMA_LIMITS.nameLength)
      throw this.fault(
        token,
        `a name of ${token.value.length} characters; at most ${SCHEMA_LIMITS.nameLength} are taken`,
      );
    this.next++;
    const after = this.token;
    const joined = after.kind === 'symbol' && ![':', ',', '(', ')', '<', '>'].includes(after.value);
    if (token.kind === 'word' && joined && after.at === token.end)
      throw this.fault(
        token,
        `a name with ${after.value} in it is put in backquotes: \`${token.value}${after.value}...\``,
      );
    return token.value;
  }

  private options(
    name: string,
    type: IcebergType,
  ): Pick<NestedField, 'type' | 'required'> & Partial<NestedField> {
    let required = false;
    let doc: string | undefined;
    let given: { token: DdlToken; literal: Literal } | undefined;
    for (;;) {
      const at = this.token;
      const again = (seen: boolean, what: string): void => {
        if (seen) throw this.fault(at, `${what} stands twice for column ${name}`);
      };
      if (this.isWord('NOT')) {
        again(required, 'NOT NULL');
        this.takeNotNull();
        required = true;
      } else if (this.isWord('DEFAULT')) {
        again(given !== undefined, 'DEFAULT');
        this.next++;
        given = { token: this.token, literal: this.literal() };
      } else if (this.isWord('COMMENT')) {
        again(doc !== undefined, 'COMMENT');
        this.next++;
        doc = this.textLiteral('the text of the comment in quotes');
      } else {
        return {
          type,
          required,
          ...(doc === undefined ? {} : { doc }),
          ...this.defaults(type, required, given),
        };
      }
    }
  }

  private defaults(
    type: IcebergType,
    required: boolean,
    given: { token: DdlToken; literal: Literal } | undefined,
  ): Pick<NestedField, 'initialDefault' | 'writeDefault'> {
    if (given === undefined) return {};
    const { token, literal } = given;
    if (literal.kind === 'null') {
      if (required) throw this.fault(token, 'DEFAULT NULL contradicts NOT NULL');
      return {};
    }
    if (typeof type !== 'string')
      throw this.fault(token, `a ${type.type} takes no DEFAULT; give its fields theirs, or leave it out`);
    const value = defaultOfLiteral(type, literal);
    if (value === undefined) {
      const found = this.text.slice(token.at, Math.min(this.tokens[this.next - 1].end, token.at + 80));
      throw this.fault(token, `DEFAULT ${found} is no value of the type ${ddlTypeName(type)}`);
    }
    return { initialDefault: value, writeDefault: value };
  }

  private type(depth: number): IcebergType {
    const at = this.token;
    if (at.kind !== 'word') throw this.expected('a type');
    if (depth > SCHEMA_LIMITS.depth)
      throw this.fault(at, `types are nested more than ${SCHEMA_LIMITS.depth} deep`);
    const word = at.value.toUpperCase();
    this.next++;
    if (word === 'ARRAY') return this.list(depth);
    if (word === 'MAP') return this.map(depth);
    if (word === 'STRUCT') return this.struct(at, depth);
    const wrong = wrongTypeName(at.value);
    if (wrong !== undefined) throw this.fault(at, wrong);
    const type = namedType(at.value, this.numbers());
    if (typeof type !== 'string') throw this.fault(at, type.wrong);
    return this.words(word) ? 'timestamp' : type;
  }

  private list(depth: number): IcebergType {
    this.expectSymbol('<', '"<" and the type of the elements: ARRAY<STRING>');
    const element = this.type(depth + 1);
    const elementRequired = this.takeNotNull();
    this.expectSymbol('>', '">" behind the type of the elements');
    return { type: 'list', elementId: 0, element, elementRequired };
  }

  private map(depth: number): IcebergType {
    this.expectSymbol('<', '"<" and the types of keys and values: MAP<STRING, BIGINT>');
    const key = this.type(depth + 1);
    this.expectSymbol(',', 'a comma and the type of the values');
    const value = this.type(depth + 1);
    const valueRequired = this.takeNotNull();
    this.expectSymbol('>', '">" behind the type of the values');
    return { type: 'map', keyId: 0, key, valueId: 0, value, valueRequired };
  }

  private struct(at: DdlToken, depth: number): StructType {
    this.expectSymbol('<', '"<" and the fields: STRUCT<a: INT, b: STRING>');
    if (this.isSymbol('>')) throw this.fault(at, 'a STRUCT without fields: no file can hold it');
    const fields = this.columns(depth + 1);
    this.expectSymbol('>', 'a comma, NOT NULL, DEFAULT, COMMENT or ">"');
    return { type: 'struct', fields };
  }

  /** The whole numbers in brackets behind a type; none where there are no brackets. */
  private numbers(): number[] {
    const numbers: number[] = [];
    if (!this.takeSymbol('(')) return numbers;
    do {
      const { token } = this;
      if (token.kind !== 'number' || !/^\d{1,9}$/.test(token.value)) throw this.expected('a whole number');
      numbers.push(Number(token.value));
      this.next++;
    } while (this.takeSymbol(',') && numbers.length < 3);
    this.expectSymbol(')', '")"');
    return numbers;
  }

  /** Takes what may follow the name of a type as words; true where a TIMESTAMP is without a zone by them. */
  private words(type: string): boolean {
    if (type === 'STRING' && this.isWord('COLLATE')) {
      this.next++;
      this.columnName();
      return false;
    }
    if (type !== 'TIMESTAMP' || !(this.isWord('WITHOUT') || this.isWord('WITH'))) return false;
    const without = this.isWord('WITHOUT');
    this.next++;
    if (!without && this.isWord('LOCAL')) this.next++;
    for (const word of ['TIME', 'ZONE']) {
      if (!this.isWord(word)) throw this.expected(`TIMESTAMP ${without ? 'WITHOUT' : 'WITH'} TIME ZONE`);
      this.next++;
    }
    return without;
  }

  private literal(): Literal {
    const { token } = this;
    if (token.kind === 'text') return { kind: 'text', value: this.textLiteral('a text') };
    if (token.kind === 'number' || (token.kind === 'symbol' && (token.value === '-' || token.value === '+')))
      return this.numberLiteral();
    const word = token.kind === 'word' ? token.value.toUpperCase() : '';
    if (word === 'NULL' || word === 'TRUE' || word === 'FALSE') {
      this.next++;
      return word === 'NULL' ? { kind: 'null' } : { kind: 'boolean', value: word === 'TRUE' };
    }
    if (this.tokens[this.next + 1]?.kind === 'text' && (word === 'X' || MOMENTS.has(word))) {
      this.next++;
      const value = this.textLiteral('a text');
      if (word !== 'X') return { kind: 'moment', word, value };
      if (!/^[0-9a-fA-F]*$/.test(value))
        throw this.fault(token, "X'...' holds other characters than hex digits");
      return { kind: 'bytes', value };
    }
    throw this.expected("a literal (a number, 'a text', TRUE, FALSE, NULL, DATE '2026-01-31', X'0AFF')");
  }

  private numberLiteral(): Literal {
    const negative = this.isSymbol('-');
    if (negative || this.isSymbol('+')) this.next++;
    const { token } = this;
    if (token.kind !== 'number') throw this.expected('a number');
    this.next++;
    const digits = token.value.replace(/(?:[bB][dD]|[lLsSyYfFdD])$/, '');
    return { kind: 'number', value: negative ? `-${digits}` : digits };
  }

  /** One text, or several that follow each other, which are one. */
  private textLiteral(what: string): string {
    if (this.token.kind !== 'text') throw this.expected(what);
    let value = '';
    for (; this.token.kind === 'text'; this.next++) value += this.token.value;
    return value;
  }

  private takeNotNull(): boolean {
    if (!this.isWord('NOT')) return false;
    this.next++;
    if (!this.isWord('NULL')) throw this.expected('NULL, behind NOT');
    this.next++;
    return true;
  }

  private get token(): DdlToken {
    return this.tokens[Math.min(this.next, this.tokens.length - 1)];
  }

  private isWord(word: string): boolean {
    return this.token.kind === 'word' && this.token.value.toUpperCase() === word;
  }

  private isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.tokens[this.next + ahead];
    return token?.kind === 'symbol' && token.value === symbol;
  }

  private takeSymbol(symbol: string): boolean {
    const there = this.isSymbol(symbol);
    if (there) this.next++;
    return there;
  }

  private expectSymbol(symbol: string, what: string): void {
    if (!this.takeSymbol(symbol)) throw this.expected(what);
  }

  private expectEnd(what: string): void {
    if (this.token.kind !== 'end') throw this.expected(what);
  }

  private expected(what: string) {
    const { token } = this;
    if (what === 'a type' && token.kind === 'name') return this.fault(token, unknownType(token.value));
    const found =
      token.kind === 'end' ? 'the end' : this.text.slice(token.at, Math.min(token.end, token.at + 60));
    return this.fault(token, `expected ${what}, found ${found}`);
  }

  private fault(token: DdlToken, message: string) {
    return schemaFault(message, placeAt(this.text, token.at));
  }
}
