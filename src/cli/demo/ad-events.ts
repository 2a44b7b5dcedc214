/**
 * The records of the demo: two producers with payloads of different shapes write into the same four topics, keyed by campaign, as
 * in an advertising platform (`source: "dummy"`, 28 fields; `source: "criteo"`, 24 fields after Criteo's attribution data set).
 * A record is a function of the seed and its sequence number alone, so that a second run goes on where the first ended.
 */
import { Random } from '../../core/random.ts';

export const AD_EVENT_TYPES = ['request', 'impression', 'click', 'conversion'] as const;
export type AdEventType = (typeof AD_EVENT_TYPES)[number];
export const AD_TOPICS: readonly string[] = AD_EVENT_TYPES.map((type) => `ad-${type}s`);

export interface AdEvent {
  readonly topic: string;
  /** The campaign's id as text. */
  readonly key: Buffer;
  /** One JSON object in UTF-8. */
  readonly value: Buffer;
  /** When the event happened, in milliseconds since 1970. */
  readonly timestampMs: number;
}

export interface AdEventOptions {
  count: number;
  seed: number;
  /** The sequence number of the first record; 0 when left out. */
  firstSequence?: number;
  /** The time of sequence number 0; 2026-01-01T00:00:00Z when left out. */
  startMs?: number;
  /** Goes before the topics' names. */
  topicPrefix?: string;
}

const DEFAULT_START_MS = Date.UTC(2026, 0, 1);
/** The pace of the events: 100,000 in an hour. */
const STEP_MS = 36;
/** Events differ from the pace by up to this much, so that their order is not that of their times. */
const JITTER_MS = 5_000;
const DUMMY_SHARE = 0.6;

/** Makes `count` events, one at a time. */
export function* generateAdEvents(options: AdEventOptions): Generator<AdEvent, void, undefined> {
  const first = options.firstSequence ?? 0;
  const startMs = options.startMs ?? DEFAULT_START_MS;
  const topics = AD_TOPICS.map((topic) => (options.topicPrefix ?? '') + topic);
  const random = new Random(options.seed, first);
  for (let sequence = first; sequence < first + options.count; sequence++) {
    random.reseed(options.seed, sequence);
    const timestampMs = startMs + sequence * STEP_MS + random.below(JITTER_MS);
    const type = eventType(random);
    const dummy = random.chance(DUMMY_SHARE);
    const campaign = dummy ? 1001 + skewed(random, 200) : 10_341_182 + skewed(random, 300) * 7_919;
    const json = dummy
      ? dummyEvent(random, type, campaign, timestampMs)
      : criteoEvent(random, type, campaign, timestampMs);
    yield {
      topic: topics[type],
      key: Buffer.from(String(campaign), 'latin1'),
      value: Buffer.from(json, 'latin1'),
      timestampMs,
    };
  }
}

/** An index into AD_EVENT_TYPES: most requests become nothing, few clicks become a conversion. */
function eventType(random: Random): number {
  const draw = random.below(100);
  if (draw < 58) return 0;
  if (draw < 86) return 1;
  return draw < 96 ? 2 : 3;
}

/** An integer in [0, limit), small ones far more often: a few campaigns have most of the traffic. */
function skewed(random: Random, limit: number): number {
  const u = random.unit();
  return Math.floor(u * u * limit);
}

/** 28 fields. Every text is ASCII without a character that JSON escapes. */
function dummyEvent(random: Random, type: number, campaign: number, timestampMs: number): string {
  const bid = 5 + random.below(4_995);
  const banner = campaign * 10 + random.below(8);
  return (
    `{"event_id":"${uuid(random)}","event_type":"${AD_EVENT_TYPES[type]}","event_time":"${isoTime(timestampMs)}","source":"dummy",` +
    `"request_id":"${hex32(random)}","session_id":"${hex32(random)}","user_id":"u${random.below(500_000)}",` +
    `"advertiser_id":${200 + (campaign % 40)},"campaign_id":${campaign},"ad_group_id":${campaign * 4 + (banner & 3)},` +
    `"creative_id":${banner * 3},"banner_id":${banner},"banner_size":"${random.pick(BANNER_SIZES)}",` +
    `"placement_id":${random.below(900) + 100},"publisher_id":${random.below(300)},${random.pick(SITES)},` +
    `${random.pick(DEVICES)},${random.pick(PLACES)},"ip_prefix":"203.0.${random.below(256)}.0",` +
    `"bid_price":${money(bid)},"win_price":${type === 0 ? 'null' : money(bid - random.below(bid))},"currency":"USD",` +
    `"is_viewable":${type > 0 && random.chance(0.7)},"latency_ms":${random.below(180) + 3}}`
  );
}

/** 24 fields. */
function criteoEvent(random: Random, type: number, campaign: number, timestampMs: number): string {
  const converted = type === 3;
  const clicked = type >= 2 || random.chance(0.05);
  const seconds = Math.floor(timestampMs / 1000);
  let text =
    `{"event_id":"${uuid(random)}","event_type":"${AD_EVENT_TYPES[type]}","source":"criteo","timestamp":${seconds},` +
    `"uid":${random.below(6_000_000)},"campaign":${campaign},"conversion":${converted ? 1 : 0},` +
    `"conversion_timestamp":${converted ? seconds + random.below(86_400) : -1},` +
    `"conversion_id":${converted ? random.below(10_000_000) : -1},"attribution":${converted ? random.below(2) : 0},` +
    `"click":${clicked ? 1 : 0},"click_pos":${clicked ? random.below(9) : -1},"cost":${fraction(random, 8)},` +
    `"cpo":${fraction(random, 8)},"time_since_last_click":${clicked ? random.below(2_000_000) : -1}`;
  for (let n = 1; n <= 9; n++) text += `,"cat${n}":${random.below(30_000_000)}`;
  return `${text}}`;
}

/** Four hex digits for each 16-bit word. */
const HEX16 = Array.from({ length: 0x1_0000 }, (_, word) => word.toString(16).padStart(4, '0'));

function hex32(random: Random): string {
  const word = random.uint32();
  return HEX16[word >>> 16] + HEX16[word & 0xffff];
}

/** A UUID of version 4. */
function uuid(random: Random): string {
  const a = random.uint32();
  const b = random.uint32();
  const c = random.uint32();
  const d = random.uint32();
  return (
    `${HEX16[a >>> 16]}${HEX16[a & 0xffff]}-${HEX16[b >>> 16]}-${HEX16[(b & 0x0fff) | 0x4000]}-` +
    `${HEX16[((c >>> 16) & 0x3fff) | 0x8000]}-${HEX16[c & 0xffff]}${HEX16[d >>> 16]}${HEX16[d & 0xffff]}`
  );
}

/** Dollars with four decimals from ten-thousandths: `0.0420`. */
function money(tenThousandths: number): string {
  const whole = Math.floor(tenThousandths / 10_000);
  return `${whole}.${String(tenThousandths - whole * 10_000).padStart(4, '0')}`;
}

/** A number in [0, 1) of that many decimals. */
function fraction(random: Random, digits: number): string {
  return `0.${String(random.below(10 ** digits)).padStart(digits, '0')}`;
}

/** ISO 8601 with milliseconds. The part up to the second is kept, since events of one second follow each other. */
function isoTime(timestampMs: number): string {
  const second = Math.floor(timestampMs / 1000);
  const text = SECONDS.get(second) ?? rememberSecond(second);
  return `${text}${String(timestampMs - second * 1000).padStart(3, '0')}Z`;
}

const SECONDS = new Map<number, string>();

function rememberSecond(second: number): string {
  if (SECONDS.size >= 64) SECONDS.clear();
  const text = new Date(second * 1000).toISOString().slice(0, 20);
  SECONDS.set(second, text);
  return text;
}

const BANNER_SIZES = ['300x250', '728x90', '320x50', '160x600', '970x250'];
/** "site_domain","page_category" */
const SITES = [
  ['news.example', 'news'],
  ['sport.example', 'sport'],
  ['recipes.example', 'food'],
  ['travel.example', 'travel'],
  ['games.example', 'games'],
  ['weather.example', 'weather'],
].map(([domain, category]) => `"site_domain":"${domain}","page_category":"${category}"`);
/** "device_type","os","browser" */
const DEVICES = [
  ['mobile', 'android', 'chrome'],
  ['mobile', 'android', 'samsung'],
  ['mobile', 'ios', 'safari'],
  ['tablet', 'ios', 'safari'],
  ['desktop', 'windows', 'edge'],
  ['desktop', 'windows', 'chrome'],
  ['desktop', 'macos', 'safari'],
  ['desktop', 'linux', 'firefox'],
].map(([type, os, browser]) => `"device_type":"${type}","os":"${os}","browser":"${browser}"`);
/** "country","language" */
const PLACES = [
  ['KR', 'ko'],
  ['JP', 'ja'],
  ['US', 'en'],
  ['DE', 'de'],
  ['FR', 'fr'],
  ['BR', 'pt'],
].map(([country, language]) => `"country":"${country}","language":"${language}"`);
