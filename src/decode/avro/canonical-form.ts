import type { AvroSchema } from './avro-schema.ts';

/** The Parsing Canonical Form of a schema (Avro spec, "Parsing Canonical Form for Schemas"). */
export function canonicalForm(schema: AvroSchema): string {
  const parts: string[] = [];
  write(schema, parts, new Set());
  return parts.join('');
}

function write(schema: AvroSchema, parts: string[], written: Set<string>): void {
  switch (schema.kind) {
    case 'union':
      parts.push('[');
      schema.branches.forEach((branch, i) => {
        if (i > 0) parts.push(',');
        write(branch, parts, written);
      });
      parts.push(']');
      return;
    case 'array':
      parts.push('{"type":"array","items":');
      write(schema.items, parts, written);
      parts.push('}');
      return;
    case 'map':
      parts.push('{"type":"map","values":');
      write(schema.values, parts, written);
      parts.push('}');
      return;
    case 'record':
    case 'enum':
    case 'fixed':
      writeNamed(schema, parts, written);
      return;
    default:
      parts.push(`"${schema.kind}"`);
  }
}

function writeNamed(
  schema: Extract<AvroSchema, { fullName: string }>,
  parts: string[],
  written: Set<string>,
): void {
  const name = `"${schema.fullName}"`;
  if (written.has(schema.fullName)) {
    parts.push(name);
    return;
  }
  written.add(schema.fullName);
  parts.push(`{"name":${name},"type":"${schema.kind}"`);
  if (schema.kind === 'fixed') parts.push(`,"size":${schema.size}`);
  else if (schema.kind === 'enum')
    parts.push(`,"symbols":[${schema.symbols.map((s) => `"${s}"`).join(',')}]`);
  else {
    parts.push(',"fields":[');
    schema.fields.forEach((field, i) => {
      parts.push(`${i > 0 ? ',' : ''}{"name":"${field.name}","type":`);
      write(field.schema, parts, written);
      parts.push('}');
    });
    parts.push(']');
  }
  parts.push('}');
}

const EMPTY = 0xc15d_213a_a4d7_a795n;

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) value = (value >> 1n) ^ (EMPTY & -(value & 1n) & 0xffff_ffff_ffff_ffffn);
  return value;
});

/** The CRC-64-AVRO fingerprint of bytes, as an unsigned number (Avro spec, "Schema Fingerprints"). */
export function fingerprint64(bytes: Uint8Array): bigint {
  let value = EMPTY;
  for (const byte of bytes) value = (value >> 8n) ^ TABLE[Number((value ^ BigInt(byte)) & 0xffn)];
  return value;
}

/** The fingerprint of a schema's canonical form, little-endian as it stands in single-object values. */
export function schemaFingerprint(schema: AvroSchema): Uint8Array {
  const bytes = new Uint8Array(8);
  const value = fingerprint64(new TextEncoder().encode(canonicalForm(schema)));
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}
