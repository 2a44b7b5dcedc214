/** Default values: the literals of DDL, and the single-value JSON form of Iceberg (spec, appendix D) in which a schema holds them. */
import { dateText, parseDate, parseTime, parseTimestamp, timestampText, timeText } from '../iso-time.ts';
import { type PrimitiveType, parseDecimal, parseFixed } from '../schema.ts';
import { decimalText, singleValueFromJson } from '../single-value.ts';

export type Literal =
  | { kind: 'null' }
  | { kind: 'boolean'; value: boolean }
  /** Digits with sign, fraction and exponent, without a suffix. */
  | { kind: 'number'; value: string }
  | { kind: 'text'; value: string }
  /** `DATE '...'`, `TIMESTAMP_NTZ '...'`: the word in upper case. */
  | { kind: 'moment'; word: string; value: string }
  /** Hex digits of `X'...'`. */
  | { kind: 'bytes'; value: string };

/** The JSON form of a literal that is not null as a value of `type`; undefined where it is none. */
export function defaultOfLiteral(type: PrimitiveType, literal: Literal): unknown {
  switch (literal.kind) {
    case 'boolean':
      return type === 'boolean' ? literal.value : undefined;
    case 'number':
      return ofNumber(type, literal.value);
    case 'text':
      return ofText(type, literal.value);
    case 'moment':
      return wordFits(literal.word, type) ? ofText(type, literal.value) : undefined;
    case 'bytes':
      return ofBytes(type, literal.value);
    default:
      return undefined;
  }
}

function ofNumber(type: PrimitiveType, text: string): unknown {
  if (type === 'float' || type === 'double') {
    const value = type === 'float' ? Math.fround(Number(text)) : Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  const decimal = parseDecimal(type);
  if (decimal === undefined && type !== 'int' && type !== 'long') return undefined;
  const unscaled = unscaledNumber(text, decimal?.scale ?? 0);
  if (unscaled === undefined) return undefined;
  if (decimal !== undefined) {
    const fits = unscaled < 10n ** BigInt(decimal.precision) && -unscaled < 10n ** BigInt(decimal.precision);
    return fits ? decimalText(unscaled, decimal.scale) : undefined;
  }
  if (BigInt.asIntN(type === 'int' ? 32 : 64, unscaled) !== unscaled) return undefined;
  return Number.isSafeInteger(Number(unscaled)) ? Number(unscaled) : unscaled;
}

const NUMBER = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** The number times 10^scale, exactly; undefined where digits would be lost or the number is out of all proportion. */
function unscaledNumber(text: string, scale: number): bigint | undefined {
  const match = NUMBER.exec(text);
  if (match === null || text.length > 400) return undefined;
  const digits = match[2] + (match[3] ?? '');
  const shift = scale + Number(match[4] ?? 0) - (match[3] ?? '').length;
  if (digits === '' || Math.abs(shift) > 400) return undefined;
  const magnitude = BigInt(digits);
  const divisor = 10n ** BigInt(Math.max(0, -shift));
  if (magnitude % divisor !== 0n) return undefined;
  const value = (magnitude / divisor) * 10n ** BigInt(Math.max(0, shift));
  return match[1] === '-' ? -value : value;
}

function ofText(type: PrimitiveType, text: string): unknown {
  switch (type) {
    case 'string':
      return text;
    case 'date': {
      const days = parseDate(text);
      return days === undefined ? undefined : dateText(days);
    }
    case 'time': {
      const micros = parseTime(text);
      return micros === undefined ? undefined : timeText(micros);
    }
    case 'timestamp':
      return ofMoment(text, 6, false);
    case 'timestamptz':
      return ofMoment(text, 6, true);
    case 'timestamp_ns':
      return ofMoment(text, 9, false);
    case 'timestamptz_ns':
      return ofMoment(text, 9, true);
    case 'uuid':
      return /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text)
        ? text.toLowerCase()
        : undefined;
    default:
      return parseDecimal(type) === undefined ? undefined : ofNumber(type, text);
  }
}

/** With or without a T, a clock and a zone; without a zone a timestamptz is in UTC. */
const MOMENT =
  /^(-?\d{4,6}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?\s?(?:(Z)|([+-])(\d\d):?(\d\d))?$/;

function ofMoment(text: string, digits: 6 | 9, zoned: boolean): string | undefined {
  const match = MOMENT.exec(text);
  if (match === null) return undefined;
  const hasZone = match[3] !== undefined || match[4] !== undefined;
  if (hasZone && !zoned) return undefined;
  const local = parseTimestamp(`${match[1]}T${match[2] ?? '00:00'}`, digits, false);
  if (local === undefined) return undefined;
  const minutes = Number(match[5] ?? 0) * 60 + Number(match[6] ?? 0);
  const offset = BigInt(match[4] === '-' ? -minutes : minutes) * 60n * 10n ** BigInt(digits);
  const units = local - offset;
  if (BigInt.asIntN(64, units) !== units) return undefined;
  return timestampText(units, digits) + (zoned ? '+00:00' : '');
}

function wordFits(word: string, type: PrimitiveType): boolean {
  if (word === 'DATE' || word === 'TIME') return type === word.toLowerCase();
  if (word === 'TIMESTAMP_NTZ') return type === 'timestamp' || type === 'timestamp_ns';
  return type.startsWith('timestamp') && (word === 'TIMESTAMP' || type.startsWith('timestamptz'));
}

function ofBytes(type: PrimitiveType, hex: string): string | undefined {
  const length = parseFixed(type);
  if (hex.length % 2 !== 0 || (type !== 'binary' && length === undefined)) return undefined;
  return length === undefined || hex.length === length * 2 ? hex.toLowerCase() : undefined;
}

/** True where a value in JSON form is one of the type. */
export function isDefaultOf(type: PrimitiveType, json: unknown): boolean {
  try {
    return singleValueFromJson(type, json) !== null;
  } catch {
    return false;
  }
}

/** A default in JSON form as a literal of DDL, which `defaultOfLiteral` reads back. */
export function literalOfDefault(type: PrimitiveType, json: unknown): string {
  if (typeof json === 'boolean') return json ? 'TRUE' : 'FALSE';
  if (Object.is(json, -0)) return '-0.0';
  if (typeof json === 'number' || typeof json === 'bigint') return String(json);
  const text = String(json);
  switch (type) {
    case 'date':
      return `DATE ${quoteText(text)}`;
    case 'timestamptz':
      return `TIMESTAMP ${quoteText(text.replace('T', ' '))}`;
    case 'timestamp':
      return `TIMESTAMP_NTZ ${quoteText(text.replace('T', ' '))}`;
    case 'binary':
      return `X'${text}'`;
    default:
      if (parseFixed(type) !== undefined) return `X'${text}'`;
      return parseDecimal(type) === undefined ? quoteText(text) : text;
  }
}

const PRINTED: Readonly<Record<string, string>> = {
  "'": "\\'",
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** A text as a literal of DDL. */
export function quoteText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped.
  const escaped = text.replace(/['\\\u0000-\u001f\u007f]/g, (char) =>
    Object.hasOwn(PRINTED, char) ? PRINTED[char] : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `'${escaped}'`;
}
