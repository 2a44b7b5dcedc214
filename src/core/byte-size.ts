import { SluiceError } from '../errors.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/**
 * Bytes of a size as people write it: `512MB`, `1.5 GiB`, `64k`, `1048576`. As in Spark and the JVM, K, M, G and T are
 * powers of 1024, with or without `B` or `iB`. Throws CONFIG_INVALID for anything else.
 */
export function parseByteSize(text: string): number {
  const match = /^\s*(\d{1,15}(?:\.\d{1,6})?)\s*(?:([kmgt])(?:i?b)?|b(?:ytes)?)?\s*$/i.exec(text);
  const bytes = match === null ? Number.NaN : Number(match[1]) * UNITS[(match[2] ?? '').toLowerCase()];
  if (!Number.isSafeInteger(Math.floor(bytes))) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `size ${JSON.stringify(text)}: expected a number with a unit, such as 512MB or 2GB`,
    );
  }
  return Math.floor(bytes);
}

/** A size for people: `512 B`, `1.5 KB`, `128 MB`; powers of 1024, at most one digit after the point. */
export function formatByteSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const rounded = unit === 0 || Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
  return `${rounded} ${units[unit]}`;
}
