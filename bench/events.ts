import { Random } from '../src/core/random.ts';

/** The records of the benchmark: the same for the same seed on every machine. */
export const SEED = 20_261_101;
/** Timestamp of record 0; the records after it follow at one a millisecond. */
export const START_MS = Date.UTC(2026, 0, 1, 8, 20);

const TYPES = ['request', 'impression', 'click', 'conversion'];
const DEVICES = ['mobile', 'tablet', 'desktop', 'tv'];
const SITES = ['news.example', 'sport.example', 'recipes.example', 'travel.example', 'games.example'];
const WORDS =
  'spring sale shoes travel hotel flight phone tablet audio garden kitchen fitness outdoor camera winter summer'.split(
    ' ',
  );
const HEX = Array.from({ length: 0x1_0000 }, (_, word) => word.toString(16).padStart(4, '0'));

/**
 * Makes JSON values of exactly `valueBytes` ASCII bytes: 20 random hex digits, ids and prices that seldom repeat, and
 * words that often do, so that zstd at level 1 makes about a third of them.
 */
export class AdEvents {
  private readonly random = new Random(SEED);
  private readonly valueBytes: number;

  /** @param valueBytes at least 220 */
  constructor(valueBytes: number) {
    this.valueBytes = valueBytes;
  }

  /** The key (a campaign) and the value of a record; a function of its sequence number alone. */
  record(sequence: number): { key: string; value: string } {
    const { random } = this;
    random.reseed(SEED, sequence);
    const campaign = 1000 + Math.floor(random.unit() ** 2 * 400);
    const timeMs = START_MS + sequence;
    let value =
      `{"id":"${hex(random)}${hex(random)}${HEX[random.below(0x1_0000)]}","type":"${random.pick(TYPES)}","ts":${timeMs},` +
      `"user":${random.below(500_000)},"campaign":${campaign},"banner":${campaign * 10 + random.below(8)},` +
      `"site":"${random.pick(SITES)}","device":"${random.pick(DEVICES)}","price":0.${random.below(10_000)},"tags":"`;
    const end = this.valueBytes - 2;
    while (value.length < end) value += `${random.pick(WORDS)}${random.below(100)} `;
    value = `${value.slice(0, end)}"}`;
    return { key: String(campaign), value };
  }
}

function hex(random: Random): string {
  const word = random.uint32();
  return HEX[word >>> 16] + HEX[word & 0xffff];
}
