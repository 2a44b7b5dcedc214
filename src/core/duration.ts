import { SluiceError } from '../errors.ts';

const UNITS: readonly { names: RegExp; ms: number }[] = [
  { names: /^(ms|msec|millis|milliseconds?)?$/, ms: 1 },
  { names: /^(s|sec|secs|seconds?)$/, ms: 1_000 },
  { names: /^(m|min|mins|minutes?)$/, ms: 60_000 },
  { names: /^(h|hr|hrs|hours?)$/, ms: 3_600_000 },
  { names: /^(d|days?)$/, ms: 86_400_000 },
];

/**
 * Milliseconds of a time as people and Spark write it: `60 seconds`, `10s`, `1 minute`, `500ms`, `2 hours 30 minutes`;
 * a bare number is milliseconds. Throws CONFIG_INVALID for anything else.
 */
export function parseDurationMs(text: string): number {
  const trimmed = text.trim().toLowerCase();
  let total = 0;
  let rest = trimmed;
  while (rest !== '') {
    const match = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)\s*/.exec(rest);
    const unit = match === null ? undefined : UNITS.find((u) => u.names.test(match[2]));
    // A bare number only stands alone: in "5 minutes 30" nobody knows what 30 is.
    if (match === null || unit === undefined || (match[2] === '' && match[0].length !== trimmed.length)) {
      total = Number.NaN;
      break;
    }
    total += Number(match[1]) * unit.ms;
    rest = rest.slice(match[0].length);
  }
  if (trimmed === '' || !Number.isSafeInteger(Math.round(total))) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `time ${JSON.stringify(text)}: expected a number with a unit, such as "60 seconds", 10s or 500ms`,
    );
  }
  return Math.round(total);
}

/** A time for people: `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
}
