/** 9999-12-31T23:59:59.999Z: a time beyond it is a mistake in the unit. */
const MAX_MS = 253_402_300_799_999n;

/**
 * Milliseconds since 1970 of a time as Spark writes it (a whole number of milliseconds) or in ISO 8601 with its zone:
 * `1784000000000`, `2026-11-01T00:00:00Z`, `2026-11-01T09:00:00.250+09:00`. Undefined for anything else: a time without
 * a zone is none, because it would be another one on another machine.
 */
export function parseTimestampMs(value: unknown): bigint | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
  if (/^\d{1,15}$/.test(text)) {
    const ms = BigInt(text);
    return ms <= MAX_MS ? ms : undefined;
  }
  const iso = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.exec(text);
  if (iso === null) return undefined;
  const ms = Date.parse(text);
  const days = new Date(Date.UTC(Number(iso[1]), Number(iso[2]), 0)).getUTCDate();
  // Date.parse would take the 31st of a month of 30 days for the first of the next.
  return Number.isNaN(ms) || ms < 0 || Number(iso[3]) > days ? undefined : BigInt(ms);
}
