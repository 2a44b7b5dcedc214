import { isTimeZone } from '../../core/partition-time.ts';
import { ZoneOffsets } from '../../core/zone-offsets.ts';
import { SluiceError } from '../../errors.ts';

const DAY = 86_400;

/**
 * What moment a time on the clocks of a zone is. Where the clocks go back a time comes twice: the first one is taken.
 * Where they go forward some times never come: such a time is read by the clocks before the change, so that it is moved
 * on by the length of the gap (both as java.time and Spark do).
 */
export class LocalClock {
  readonly #zone: ZoneOffsets;
  // The local seconds [from, until) in which the offset does not change.
  #from = 1;
  #until = 0;
  #offset = 0;

  /** Throws CONFIG_INVALID for a name that is no time zone. */
  constructor(timeZone: string) {
    if (!isTimeZone(timeZone))
      throw new SluiceError(
        'CONFIG_INVALID',
        `timeZone ${JSON.stringify(timeZone)}: expected the name of a time zone, such as UTC or Asia/Seoul`,
      );
    this.#zone = new ZoneOffsets(timeZone);
  }

  /** Seconds that the clocks are ahead of UTC at a time that they show, in seconds since 1970-01-01T00:00:00 on them. */
  offsetOf(localSeconds: number): number {
    if (!(localSeconds >= this.#from && localSeconds < this.#until)) this.#enter(localSeconds);
    return this.#offset;
  }

  #enter(localSeconds: number): void {
    const from = Math.floor(localSeconds / DAY) * DAY;
    // A zone's clocks are never a day away from UTC, and no two changes are closer than four days.
    const before = this.#offsetAt(from - DAY);
    const after = this.#offsetAt(from + 2 * DAY);
    if (before === after) {
      this.#from = from;
      this.#until = from + DAY;
      this.#offset = before;
      return;
    }
    this.#from = localSeconds;
    this.#until = localSeconds + 1;
    const late =
      this.#offsetAt(localSeconds - before) !== before && this.#offsetAt(localSeconds - after) === after;
    this.#offset = late ? after : before;
  }

  #offsetAt(seconds: number): number {
    return this.#zone.pieceOf(seconds * 1000).offsetMs / 1000;
  }
}
