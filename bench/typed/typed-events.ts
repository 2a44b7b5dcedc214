import avsc from 'avsc';
import { Random } from '../../src/core/random.ts';
import { SEED, START_MS } from '../events.ts';

/** The twelve columns, by the same names in Spark's DDL, in Avro and in DuckDB. */
export const TYPED_COLUMNS = [
  { name: 'id', ddl: 'STRING', duckdb: 'VARCHAR', avro: 'string' },
  {
    name: 'ts',
    ddl: 'TIMESTAMP',
    duckdb: 'TIMESTAMPTZ',
    avro: { type: 'long', logicalType: 'timestamp-millis' },
  },
  { name: 'type', ddl: 'STRING', duckdb: 'VARCHAR', avro: 'string' },
  { name: 'user', ddl: 'BIGINT', duckdb: 'BIGINT', avro: 'long' },
  { name: 'campaign', ddl: 'INT', duckdb: 'INTEGER', avro: 'int' },
  { name: 'session', ddl: 'BIGINT', duckdb: 'BIGINT', avro: 'long' },
  {
    name: 'price',
    ddl: 'DECIMAL(10,4)',
    duckdb: 'DECIMAL(10,4)',
    avro: { type: 'bytes', logicalType: 'decimal', precision: 10, scale: 4 },
  },
  { name: 'score', ddl: 'DOUBLE', duckdb: 'DOUBLE', avro: 'double' },
  { name: 'mobile', ddl: 'BOOLEAN', duckdb: 'BOOLEAN', avro: 'boolean' },
  { name: 'site', ddl: 'STRING', duckdb: 'VARCHAR', avro: 'string' },
  { name: 'country', ddl: 'STRING', duckdb: 'VARCHAR', avro: ['null', 'string'] },
  { name: 'note', ddl: 'STRING', duckdb: 'VARCHAR', avro: 'string' },
] as const;

/** As in a pipeline file. */
export const TYPED_DDL = TYPED_COLUMNS.map(({ name, ddl }) => `${name} ${ddl}`).join(', ');

/** The writer's schema of the Avro records. */
export const AVRO_SCHEMA = JSON.stringify({
  type: 'record',
  name: 'AdEvent',
  namespace: 'bench',
  fields: TYPED_COLUMNS.map(({ name, avro }) => ({ name, type: avro })),
});
/** The id under which the registry of the benchmark has it. */
export const SCHEMA_ID = 1;

/** JSON documents of fewer bytes do not hold all the fields. */
export const LEAST_DOCUMENT_BYTES = 235;

const TYPES = ['request', 'impression', 'click', 'conversion'];
const SITES = ['news.example', 'sport.example', 'recipes.example', 'travel.example', 'games.example'];
const COUNTRIES = ['KR', 'DE', 'US', 'BR', 'IN', 'JP', 'FR'];
const WORDS = 'spring sale shoes travel hotel flight phone tablet audio garden kitchen winter summer'.split(
  ' ',
);
/** One record in so many is up to a day late: it belongs to another partition than its neighbours. */
const LATE_ONE_IN = 50;
const DAY_MS = 86_400_000;

/** The fields of one record, all of them plain values. */
export interface TypedEvent {
  id: string;
  tsMs: number;
  type: string;
  user: number;
  campaign: number;
  session: number;
  /** In units of 0.0001. */
  price: number;
  /** In units of 0.000001. */
  score: number;
  mobile: boolean;
  site: string;
  /** Null in one record of eight. */
  country: string | null;
  note: string;
}

/** Makes the records of the typed benchmarks, as JSON documents of one length or in the registry's frame; the same for the same seed. */
export class TypedEvents {
  private readonly random = new Random(SEED);
  private readonly documentBytes: number;
  private readonly avroType = avsc.Type.forSchema(JSON.parse(AVRO_SCHEMA) as avsc.Schema);

  /** @param documentBytes of a JSON document; Avro records hold the same fields */
  constructor(documentBytes: number) {
    this.documentBytes = documentBytes;
  }

  /** The key (a campaign) and the document of a record; a function of its sequence number alone. */
  json(sequence: number): { key: string; value: string } {
    const { event, document } = this.make(sequence);
    return { key: String(event.campaign), value: document };
  }

  /** The same record behind the five bytes of a registry's frame. */
  avro(sequence: number): { key: string; value: Buffer } {
    const { event } = this.make(sequence);
    const { tsMs, price, score, ...same } = event;
    const body = this.avroType.toBuffer({
      ...same,
      ts: tsMs,
      price: unscaledBytes(price),
      score: score / 1e6,
    });
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(SCHEMA_ID, 1);
    return { key: String(event.campaign), value: Buffer.concat([frame, body]) };
  }

  private make(sequence: number): { event: TypedEvent; document: string } {
    const { random } = this;
    random.reseed(SEED, sequence);
    const event: TypedEvent = {
      id: `${hex(random)}${hex(random)}`,
      tsMs: START_MS + sequence - random.below(random.below(LATE_ONE_IN) === 0 ? DAY_MS : 2000),
      type: random.pick(TYPES),
      user: random.below(500_000),
      campaign: 1000 + Math.floor(random.unit() ** 2 * 400),
      session: 1e12 + random.uint32() * 1000 + random.below(1000),
      price: random.below(100_000),
      score: random.below(1_000_000),
      mobile: random.below(2) === 0,
      site: random.pick(SITES),
      country: random.below(8) === 0 ? null : random.pick(COUNTRIES),
      note: '',
    };
    const head = headOf(event);
    event.note = this.note(this.documentBytes - head.length - 2);
    return { event, document: `${head}${event.note}"}` };
  }

  private note(length: number): string {
    const { random } = this;
    let note = '';
    while (note.length < length) note += `${random.pick(WORDS)}${random.below(100)} `;
    return note.slice(0, length);
  }
}

/** Everything before the text of `note`. */
function headOf(event: TypedEvent): string {
  const country = event.country === null ? 'null' : `"${event.country}"`;
  return (
    `{"id":"${event.id}","ts":"${new Date(event.tsMs).toISOString()}","type":"${event.type}","user":${event.user},` +
    `"campaign":${event.campaign},"session":${event.session},"price":${decimal(event.price, 4)},` +
    `"score":${decimal(event.score, 6)},"mobile":${event.mobile},"site":"${event.site}","country":${country},"note":"`
  );
}

function decimal(units: number, digits: number): string {
  const text = String(units).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function hex(random: Random): string {
  return random.uint32().toString(16).padStart(8, '0');
}

/** Big-endian two's complement of a number in [0, 2^31), in as few bytes as it takes. */
function unscaledBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  let from = 0;
  while (from < 3 && bytes[from] === 0 && bytes[from + 1] < 0x80) from++;
  return bytes.subarray(from);
}
