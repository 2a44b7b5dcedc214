/** Why a record stands in quarantine: the stable codes of spec 40, the one table of them. */
export const REASON_CODES = {
  INVALID_JSON: 'The value is not a JSON document.',
  INVALID_CSV: 'The value is not one line of CSV with a field for each column.',
  INVALID_UTF8: 'The bytes are not valid UTF-8 where text is asked for.',
  EMPTY_VALUE: 'The value is empty or white space where a document is asked for.',
  NOT_AN_OBJECT: 'The document is not an object.',
  TOO_DEEP: 'The document is nested deeper than 512 levels.',
  TOO_LARGE: 'The record is larger than maxRecordBytes.',
  TYPE_MISMATCH: 'A field holds another type than the column.',
  OUT_OF_RANGE: 'A value does not fit the type of its column.',
  MISSING_REQUIRED: 'A required field is missing or null.',
  UNKNOWN_FIELD: 'A field is not in the schema and the rule refuses such fields.',
  BAD_TIMESTAMP: 'A text is no timestamp of a known form.',
  BAD_MAGIC: 'The first byte is not the magic byte of the wire format.',
  SHORT_FRAME: 'The value is shorter than the frame of the wire format.',
  EMPTY_BODY: 'The frame has no body.',
  UNKNOWN_SCHEMA_ID: 'The registry does not know the schema id.',
  AVRO_DECODE: 'The bytes do not follow the writer schema.',
  AVRO_RESOLUTION: 'The writer schema cannot be resolved against the reader schema.',
  PROTOBUF_DECODE: 'The bytes are no message of the given type.',
  AMBIGUOUS_FIELD: 'Two fields of the record match one column.',
  ROUTE_UNKNOWN: 'No rule says where the record goes.',
} as const;

/** A reason code; contracts add their own as `CONTRACT_<RULE>`. */
export type ReasonCode = keyof typeof REASON_CODES | `CONTRACT_${string}`;
