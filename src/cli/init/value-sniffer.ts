import { isUtf8 } from 'node:buffer';
import type { StructType } from '../../core/schema.ts';
import { CsvRecord } from '../../decode/csv/csv-record.ts';
import { type InferenceReport, SchemaInference } from '../../decode/infer/schema-inference.ts';

/** What the values of a topic are, as far as a sample tells. */
export type ValueKind =
  /** JSON objects. */
  | 'json'
  /** Lines of CSV with the same number of fields, two or more. */
  | 'csv'
  /** The frame of a Schema Registry: magic byte 0, a schema id, a body. */
  | 'registry'
  /** As that, and the body is a JSON document. */
  | 'registry-json'
  /** Avro's single-object encoding: C3 01 and a fingerprint. */
  | 'avro-single-object'
  | 'text'
  | 'binary'
  /** There is no value to look at. */
  | 'none';

export interface Sniffed {
  kind: ValueKind;
  /** Values that were looked at: neither null nor empty. */
  values: number;
  /** Of them, those that are of the kind. */
  matching: number;
  tombstones: number;
  empty: number;
  /** Inferred from JSON objects; null for every other kind, and where no field has a value. */
  schema: StructType | null;
  inference: InferenceReport;
  /** Of `registry`, by how often they came, the most frequent first; at most 10. */
  schemaIds: number[];
  /** Of `csv`. */
  csv: { delimiter: string; fields: number } | null;
  /** All keys that are there are text. */
  textKeys: boolean;
}

/** A kind is told where at least so many of 100 values are of it: others would go to the quarantine. */
const PERCENT = 90;
const MAX_SCHEMA_IDS = 1000;
const DELIMITERS = [',', ';', '\t', '|'];
/** Fields of a line that are counted; beyond that it is no table that a person would write down. */
const MAX_CSV_FIELDS = 500;

/** Looks at values one by one and keeps none of them. */
export class ValueSniffer {
  private readonly inference = new SchemaInference({ inferTimestamps: true });
  private readonly csv = DELIMITERS.map((delimiter) => new CsvCounter(delimiter));
  private readonly schemaIds = new Map<number, number>();
  private values = 0;
  private tombstones = 0;
  private empty = 0;
  private json = 0;
  private frames = 0;
  private jsonFrames = 0;
  private singleObjects = 0;
  private texts = 0;
  private keys = 0;
  private textKeys = 0;

  add(key: Uint8Array | null, value: Uint8Array | null): void {
    if (key !== null) {
      this.keys++;
      if (isPlainText(key)) this.textKeys++;
    }
    if (value === null) this.tombstones++;
    else if (value.length === 0) this.empty++;
    else this.addValue(value);
  }

  private addValue(value: Uint8Array): void {
    this.values++;
    if (this.inference.addJson(value)) {
      this.json++;
      this.texts++;
    } else if (isPlainText(value)) {
      this.texts++;
      for (const counter of this.csv) counter.add(value);
    } else if (value[0] === 0 && value.length > 5) {
      this.addFrame(value);
    } else if (value[0] === 0xc3 && value[1] === 0x01 && value.length >= 10) {
      this.singleObjects++;
    }
  }

  private addFrame(value: Uint8Array): void {
    const id = (value[1] << 24) | (value[2] << 16) | (value[3] << 8) | value[4];
    // Registries count from 1; a number of eight bytes looks like a frame of schema 0.
    if (id < 1) return;
    const known = this.schemaIds.get(id);
    if (known === undefined && this.schemaIds.size >= MAX_SCHEMA_IDS) return;
    this.schemaIds.set(id, (known ?? 0) + 1);
    this.frames++;
    if (value[5] === 0x7b) this.jsonFrames++;
  }

  result(): Sniffed {
    const [kind, matching, csv] = this.kindOf();
    const ids = [...this.schemaIds].sort(([, a], [, b]) => b - a).map(([id]) => id);
    return {
      kind,
      values: this.values,
      matching,
      tombstones: this.tombstones,
      empty: this.empty,
      schema: kind === 'json' ? this.inference.result() : null,
      inference: this.inference.report(),
      schemaIds: kind.startsWith('registry') ? ids.slice(0, 10) : [],
      csv,
      textKeys: this.keys > 0 && this.textKeys === this.keys,
    };
  }

  private kindOf(): [kind: ValueKind, matching: number, csv: Sniffed['csv']] {
    const enough = (count: number): boolean => count > 0 && count * 100 >= this.values * PERCENT;
    if (this.values === 0) return ['none', 0, null];
    if (enough(this.json)) return ['json', this.json, null];
    // Frames name a few schemas again and again; ids that are all different are something else.
    if (enough(this.frames) && this.schemaIds.size * 10 <= this.frames + 50)
      return [enough(this.jsonFrames) ? 'registry-json' : 'registry', this.frames, null];
    if (enough(this.singleObjects)) return ['avro-single-object', this.singleObjects, null];
    const lines = this.csv
      .map((counter) => ({ delimiter: counter.delimiter, ...counter.most() }))
      .filter(({ fields, lines }) => fields > 1 && enough(lines))
      .sort((a, b) => b.lines - a.lines || b.fields - a.fields)[0];
    if (lines !== undefined)
      return ['csv', lines.lines, { delimiter: lines.delimiter, fields: lines.fields }];
    return this.texts === this.values ? ['text', this.texts, null] : ['binary', this.values, null];
  }
}

/** How many lines have how many fields with one delimiter. */
class CsvCounter {
  readonly delimiter: string;
  private readonly record: CsvRecord;
  private readonly lines = new Map<number, number>();

  constructor(delimiter: string) {
    this.delimiter = delimiter;
    this.record = new CsvRecord({ delimiter, quote: '"', escape: '"' }, 0);
  }

  add(value: Uint8Array): void {
    if (!this.record.split(value, 0, value.length)) return;
    const { count } = this.record;
    if (count <= MAX_CSV_FIELDS) this.lines.set(count, (this.lines.get(count) ?? 0) + 1);
  }

  most(): { fields: number; lines: number } {
    return [...this.lines]
      .map(([fields, lines]) => ({ fields, lines }))
      .reduce((a, b) => (b.lines > a.lines ? b : a), { fields: 0, lines: 0 });
  }
}

/** UTF-8 without control characters but tabs and line breaks. */
function isPlainText(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  }
  return isUtf8(bytes);
}
