const HOUR_MS = 3_600_000;
/** UTC hours that are remembered: timestamps that go to and fro between a few hours stay cheap. */
const REMEMBERED = 256;

/** A stretch [startMs, endMs) in which the zone's clocks are `offsetMs` ahead of UTC. */
export interface ZonePiece {
  startMs: number;
  endMs: number;
  offsetMs: number;
}

/**
 * How far a time zone's clocks are from UTC, from `Intl`'s time zone data. `Intl` is asked for both ends of a UTC hour;
 * where they agree the offset holds for the hour, where they differ the moment between is found by halving (the
 * closest two changes of any zone are four days apart).
 */
export class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat;
  readonly #isUtc: boolean;
  readonly #hours = new Float64Array(REMEMBERED).fill(Number.NaN);
  readonly #pieces: (readonly ZonePiece[])[] = new Array(REMEMBERED);

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    this.#isUtc = /^(?:UTC|Etc\/UTC|GMT|Etc\/GMT)$/.test(this.#format.resolvedOptions().timeZone);
  }

  /** The piece around a timestamp, one UTC hour long at most. `ms` must be within what `Date` can hold. */
  pieceOf(ms: number): ZonePiece {
    const hour = Math.floor(ms / HOUR_MS);
    const slot = ((hour % REMEMBERED) + REMEMBERED) % REMEMBERED;
    if (this.#hours[slot] !== hour) {
      this.#pieces[slot] = this.#piecesOfHour(hour * HOUR_MS);
      this.#hours[slot] = hour;
    }
    const pieces = this.#pieces[slot];
    return ms < pieces[0].endMs ? pieces[0] : pieces[1];
  }

  #piecesOfHour(startMs: number): readonly ZonePiece[] {
    const endMs = startMs + HOUR_MS;
    if (this.#isUtc) return [{ startMs, endMs, offsetMs: 0 }];
    const first = this.#offsetAt(startMs);
    const last = this.#offsetAt(endMs - 1);
    if (first === last) return [{ startMs, endMs, offsetMs: first }];
    // `before` has the first offset, `after` the last one, always; clocks change at whole seconds.
    let before = startMs;
    let after = endMs;
    while (after - before > 1000) {
      const middle = before + Math.floor((after - before) / 2000) * 1000;
      if (this.#offsetAt(middle) === first) before = middle;
      else after = middle;
    }
    return [
      { startMs, endMs: after, offsetMs: first },
      { startMs: after, endMs, offsetMs: last },
    ];
  }

  #offsetAt(ms: number): number {
    const seconds = Math.floor(ms / 1000) * 1000;
    let year = 0;
    let month = 0;
    let day = 0;
    let timeMs = 0;
    for (const part of this.#format.formatToParts(seconds)) {
      if (part.type === 'year') year += Number(part.value);
      else if (part.type === 'era' && part.value.startsWith('B')) year = 1 - year;
      else if (part.type === 'month') month = Number(part.value);
      else if (part.type === 'day') day = Number(part.value);
      else if (part.type === 'hour') timeMs += Number(part.value) * HOUR_MS;
      else if (part.type === 'minute') timeMs += Number(part.value) * 60_000;
      else if (part.type === 'second') timeMs += Number(part.value) * 1000;
    }
    return new Date(0).setUTCFullYear(year, month - 1, day) + timeMs - seconds;
  }
}
