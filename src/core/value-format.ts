/** How the value, or the key, of a record becomes columns: plain values, so that they cross threads and stand in plans. */
import type { EvolutionRule } from './schema-evolution.ts';

/** What happens with a record that cannot be decoded (spec 40, "Modes"). */
export type DecodeMode =
  /** It goes to the quarantine with its bytes. */
  | 'quarantine'
  /** As Spark's PERMISSIVE: what cannot be read is null, and `corruptRecordColumn`, if named, holds the text. */
  | 'permissive'
  /** The run stops with the record's place. */
  | 'failfast'
  /** It is dropped and counted. */
  | 'dropmalformed';

interface FormatBase {
  mode: DecodeMode;
  /** A string column that takes the text of a record at fault under `permissive`; null: none. */
  corruptRecordColumn: string | null;
  /** Text without a zone into timestamptz is read in this zone (IANA name), whatever the zone of the process. */
  timeZone: string;
}

export interface JsonFormat extends FormatBase {
  format: 'json';
  /** `spark`: as from_json reads (spec 40). */
  compat: 'strict' | 'spark';
  /** Fields that no column takes: passed over, kept as one JSON text in a string column, or the record is quarantined. */
  unknownFields: 'ignore' | 'quarantine' | { restColumn: string };
  caseInsensitive: boolean;
  /** The unit of numbers in timestamp columns. */
  timestampUnit: 'seconds' | 'millis' | 'micros' | 'nanos';
  /** Digits beyond a decimal's scale: OUT_OF_RANGE, or rounded half up. */
  decimalRounding: 'refuse' | 'halfUp';
  /** The document `null`: a row of nulls, or quarantined as NOT_AN_OBJECT. */
  nullDocument: 'row' | 'quarantine';
}

export interface CsvFormat extends FormatBase {
  format: 'csv';
  delimiter: string;
  quote: string;
  escape: string;
  /** The text that stands for null, unquoted. */
  nullValue: string;
  timestampUnit: 'seconds' | 'millis' | 'micros' | 'nanos';
  decimalRounding: 'refuse' | 'halfUp';
}

export interface AvroFormat extends FormatBase {
  format: 'avro';
  /**
   * `confluent`: magic byte 0 and a schema id of the registry; `plain`: one datum of `writerSchema`; `singleObject`:
   * C3 01, the fingerprint of `writerSchema`, the datum.
   */
  framing: 'confluent' | 'plain' | 'singleObject';
  /** Avro schema, JSON text, of plain and single-object values; null with a registry. */
  writerSchema: string | null;
  /** Avro schema, JSON text, that values are resolved to; null: each writer schema is matched with the columns by name. */
  readerSchema: string | null;
}

export interface ProtobufFormat extends FormatBase {
  format: 'protobuf';
  /** Full name of the message; null: what the frame's message indexes say. */
  message: string | null;
}

/** JSON documents in the registry's frame, decoded as JSON. */
export interface JsonSchemaFormat extends Omit<JsonFormat, 'format'> {
  format: 'json-schema';
}

export type ValueFormat = JsonFormat | CsvFormat | AvroFormat | ProtobufFormat | JsonSchemaFormat;

/** A schema of the registry with everything that it refers to. */
export interface RegisteredSchema {
  id: number;
  type: 'AVRO' | 'PROTOBUF' | 'JSON';
  /** As the registry holds it. */
  schema: string;
  /** By the name under which the schema refers to it, in the order in which they must be read: a referred one first. */
  references: { name: string; schema: string }[];
}

/** How a table follows its records. */
export type EvolveRule = EvolutionRule;
