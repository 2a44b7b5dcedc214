/** Why a record stands in quarantine: the stable codes of spec 40, the one table of them; `docs/quarantine.md` is made from it. */

export interface ReasonRow {
  /** What the code means, one sentence. */
  readonly meaning: string;
  /** Where it comes from as a rule. */
  readonly cause: string;
  /** What a person can do, so that the records can go back. */
  readonly remedy: string;
}

const row = (meaning: string, cause: string, remedy: string): ReasonRow => ({ meaning, cause, remedy });

export const REASON_CODES = {
  INVALID_JSON: row(
    'The value is not a JSON document.',
    'Another format in the topic, a document that was cut off, two documents in one value, NaN or single quotes.',
    'Mend the producer. Where the topic has another format, give it by `value.format`; where Spark would have read it, `compat: spark` does too. Then requeue.',
  ),
  INVALID_CSV: row(
    'The value is not one line of CSV with a field for each column.',
    'Another delimiter or quote, a line break within a value, a header line among the data, fewer or more fields.',
    'Compare the options under `value` with what is sent; then requeue.',
  ),
  INVALID_UTF8: row(
    'The bytes are not valid UTF-8 where text is asked for.',
    'A producer that writes Latin-1, binary values in a table whose column `value` is text, bytes cut within a character.',
    'Mend the producer, or keep bytes: `valueType: binary` (or `keyType: binary`) for a new table. In a table that is there, replace the column by one of type binary; then requeue.',
  ),
  EMPTY_VALUE: row(
    'The value is empty or white space where a document is asked for.',
    'A producer that means a deletion and writes an empty value instead of none.',
    'Mend the producer: a deletion is a record without a value. Such a record never becomes a row.',
  ),
  NOT_AN_OBJECT: row(
    'The document is not an object.',
    'A list or a bare number or text as the whole value.',
    'Mend the producer: columns come from the fields of an object.',
  ),
  TOO_DEEP: row(
    'The document is nested deeper than 512 levels.',
    'A producer that nests by mistake, or hostile input.',
    'Mend the producer; such a record never becomes a row.',
  ),
  TOO_LARGE: row(
    'Key and value together are larger than `maxRecordBytes`.',
    'A limit that is too low, or a payload that does not belong in the topic.',
    'Raise `maxRecordBytes`, then requeue. A value of more than `quarantine.keepBytes` was cut (its length and SHA-256 stand in the message): it cannot go back, read it again from Kafka while it is there.',
  ),
  TYPE_MISMATCH: row(
    'A field holds another type than its column.',
    'The producer changed a type, or the schema of the table was guessed from too few records.',
    'Mend the producer or the schema; `evolve: widen` lets the column grow where Iceberg allows it. Then requeue.',
  ),
  OUT_OF_RANGE: row(
    'A value does not fit the type of its column.',
    'A number beyond int or long, more decimals than the column has, a date outside the years 0001 to 9999.',
    'Widen the column (`evolve: widen`), then requeue. A Kafka timestamp that no table can hold was not kept: such a record cannot go back.',
  ),
  MISSING_REQUIRED: row(
    'A required field is missing or null.',
    'An optional field that the schema calls NOT NULL, a tombstone in a table with required columns.',
    'Make the column optional (`evolve: widen` does), or give it a default; then requeue.',
  ),
  UNKNOWN_FIELD: row(
    'A field is not in the schema, and the rule refuses such fields.',
    'A new field of the producer under `unknownFields: quarantine`, or one that a table with `evolve` could not be given: another type than the column has, too many columns.',
    'Add the column, or say `unknownFields: ignore` or `rest`; then requeue.',
  ),
  BAD_TIMESTAMP: row(
    'A text is no timestamp of a known form.',
    'A local format such as 14/07/2026, a zone by its name, epoch seconds as text.',
    'Mend the producer, or give the form by the options of the format; then requeue.',
  ),
  BAD_MAGIC: row(
    'The first byte is not the magic byte of the wire format.',
    'Values that were written without a Schema Registry, or another format in the topic.',
    'Give `framing` (`plain` or `singleObject`) or another `value.format`; then requeue.',
  ),
  SHORT_FRAME: row(
    'The value is shorter than the frame of the wire format.',
    'Values that were written without a Schema Registry, or cut off.',
    'As for BAD_MAGIC.',
  ),
  EMPTY_BODY: row(
    'The frame has no body.',
    'A producer that writes only the id of the schema.',
    'Mend the producer; such a record never becomes a row, unless its schema has no fields.',
  ),
  UNKNOWN_SCHEMA_ID: row(
    'The registry does not know the schema id.',
    'The producer used another registry, or the schema was deleted.',
    'Point `schema.registry.url` at the right registry, or restore the schema under its id; then requeue.',
  ),
  AVRO_DECODE: row(
    'The bytes do not follow the writer schema.',
    'A value that was written by another schema than the one of its id, or cut off.',
    'Mend the producer; where the id names the wrong schema, register the right one under it, then requeue.',
  ),
  AVRO_RESOLUTION: row(
    'The writer schema cannot be resolved against the columns.',
    'The producer changed a type, removed a field without default, or added a symbol to an enum without default.',
    'Add a default or an alias to the schema, or let the table evolve; then requeue.',
  ),
  PROTOBUF_DECODE: row(
    'The bytes are no message of the given type.',
    'Another message type in the topic, or a message that was cut off.',
    'Give the right `message`; then requeue.',
  ),
  AMBIGUOUS_FIELD: row(
    'Two fields of the record match one column.',
    'Fields that differ only in case, under `caseInsensitive`.',
    'Mend the producer, or turn `caseInsensitive` off; then requeue.',
  ),
  ROUTE_UNKNOWN: row(
    'No rule says where the record goes.',
    'A new value of the field that `route.by` names, or a record without that field.',
    'Add the value under `route.tables`, or let tables be made by `route.unknown: create`; once the table is there, requeue.',
  ),
} as const satisfies Record<string, ReasonRow>;

/** A reason code; contracts add their own as `CONTRACT_<RULE>`. */
export type ReasonCode = keyof typeof REASON_CODES | `CONTRACT_${string}`;
