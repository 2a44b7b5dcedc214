/**
 * JSON with exact 64-bit integers. `JSON.parse` rounds integers above 2^53, and snapshot ids are almost always above it
 * (cases C01, C22); here an integer token outside the safe range becomes a bigint, and a bigint is written as digits.
 */

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

type ReviverContext = { source?: string };
type Reviver = (this: unknown, key: string, value: unknown) => unknown;
interface RawJsonSupport {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { rawJSON: string };
}
const raw = JSON as unknown as RawJsonSupport;

/** Parses JSON; integers outside +-(2^53-1) come back as bigint, every other value as `JSON.parse` gives it. Throws SyntaxError. */
export function parseJson64(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown =>
    typeof value === 'number' && context?.source !== undefined ? exactInteger(value, context.source) : value;
  return JSON.parse(text, revive as Reviver);
}

/**
 * As `parseJson64`, for documents that are written back: a number that would be written otherwise than it came (`1.0`,
 * `1.0E20`, `-0.0`; other parsers tell a double from an integer by it) comes back as its text, which `stringifyJson64`
 * writes as it is and `plainNumber` turns into the number.
 */
export function parseFaithfulJson64(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined) return value;
    const exact = exactInteger(value, source);
    return String(exact) === source ? exact : raw.rawJSON(source);
  };
  return JSON.parse(text, revive as Reviver);
}

function exactInteger(value: number, source: string): number | bigint {
  return !Number.isSafeInteger(value) && INTEGER.test(source) ? BigInt(source) : value;
}

/** The number that `parseFaithfulJson64` kept as its text; any other value as it is. */
export function plainNumber(value: unknown): unknown {
  return raw.isRawJSON(value) ? Number(value.rawJSON) : value;
}

/** A float or double as a JSON number that no parser takes for an integer; NaN and infinities have none and stay. */
export function floatingJson(value: number): unknown {
  if (!Number.isInteger(value)) return value;
  if (Object.is(value, -0)) return raw.rawJSON('-0.0');
  const text = String(value);
  return raw.rawJSON(text.includes('e') ? text : `${text}.0`);
}

/** Writes JSON; bigints become integer tokens with their exact digits. Maps and typed arrays are not known here. */
export function stringifyJson64(value: unknown, indent?: number): string {
  const digits = (_key: string, v: unknown): unknown =>
    typeof v === 'bigint' ? raw.rawJSON(v.toString()) : v;
  return JSON.stringify(value, digits, indent);
}

/** A JSON integer of up to 64 bits as bigint, or undefined where the value is none. */
export function asBigInt(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return undefined;
}
