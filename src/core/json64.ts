/**
 * JSON with exact 64-bit integers. `JSON.parse` rounds integers above 2^53, and snapshot ids are almost always above it
 * (cases C01, C22); here an integer token outside the safe range becomes a bigint, and a bigint is written as digits.
 */

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

type ReviverContext = { source?: string };
type RawJson = { rawJSON: (text: string) => unknown };

/** Parses JSON; integers outside +-(2^53-1) come back as bigint, every other value as `JSON.parse` gives it. Throws SyntaxError. */
export function parseJson64(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown => {
    if (typeof value === 'number' && !Number.isSafeInteger(value) && context?.source !== undefined && INTEGER.test(context.source)) {
      return BigInt(context.source);
    }
    return value;
  };
  return JSON.parse(text, revive as (this: unknown, key: string, value: unknown) => unknown);
}

/** Writes JSON; bigints become integer tokens with their exact digits. Maps and typed arrays are not known here. */
export function stringifyJson64(value: unknown, indent?: number): string {
  const raw = (JSON as unknown as RawJson).rawJSON;
  return JSON.stringify(value, (_key, v: unknown) => (typeof v === 'bigint' ? raw(v.toString()) : v), indent);
}

/** A JSON integer of up to 64 bits as bigint, or undefined where the value is none. */
export function asBigInt(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return undefined;
}
