/** Avro schemas as JSON, with the attributes that Iceberg adds (Iceberg spec, appendix A "Avro"). */
export type AvroSchema = string | AvroObject | AvroSchema[];
export interface AvroObject {
  type: AvroSchema;
  [attribute: string]: unknown;
}
export interface AvroField {
  name: string;
  type: AvroSchema;
  'field-id'?: number;
  [attribute: string]: unknown;
}

/** The first bytes of a container file: `Obj` and the version. */
export const AVRO_MAGIC: readonly number[] = [0x4f, 0x62, 0x6a, 1];
