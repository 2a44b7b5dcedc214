import type { ReasonCode } from './reasons.ts';

/** Bytes of the frame of the Confluent wire format: the magic byte 0 and a schema id, big-endian. */
export const CONFLUENT_FRAME = 5;
/** Bytes of the frame of a single-object value: C3 01 and the schema's fingerprint, little-endian. */
export const SINGLE_OBJECT_FRAME = 10;

/** Whether bytes[start, end) begin with a whole frame of the Confluent wire format. */
export function hasConfluentFrame(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start >= CONFLUENT_FRAME && bytes[start] === 0;
}

/** The schema id of a whole frame: a signed 32-bit number, as the registry's ids are. */
export function schemaIdAt(bytes: Uint8Array, start: number): number {
  return (bytes[start + 1] << 24) | (bytes[start + 2] << 16) | (bytes[start + 3] << 8) | bytes[start + 4];
}

export interface FrameFault {
  readonly reason: ReasonCode;
  readonly message: string;
}

/** Why bytes[start, end) do not begin with a whole frame of the Confluent wire format (case C09). */
export function confluentFault(bytes: Uint8Array, start: number, end: number): FrameFault {
  if (end > start && bytes[start] !== 0)
    return {
      reason: 'BAD_MAGIC',
      message: `the first byte is ${hex(bytes, start, 1)}, not the magic byte 0x00 of the registry's wire format`,
    };
  return {
    reason: 'SHORT_FRAME',
    message: `the value has ${end - start} bytes, the frame of the wire format ${CONFLUENT_FRAME}`,
  };
}

/** Why bytes[start, end) do not begin with the frame of a single-object value of the fingerprint; undefined where they do. */
export function singleObjectFault(
  bytes: Uint8Array,
  start: number,
  end: number,
  fingerprint: Uint8Array,
): FrameFault | undefined {
  const marked = (end - start < 1 || bytes[start] === 0xc3) && (end - start < 2 || bytes[start + 1] === 0x01);
  if (!marked)
    return {
      reason: 'BAD_MAGIC',
      message: `the value begins with ${hex(bytes, start, Math.min(2, end - start))}, not with 0xc301 of single-object encoding`,
    };
  if (end - start < SINGLE_OBJECT_FRAME)
    return {
      reason: 'SHORT_FRAME',
      message: `the value has ${end - start} bytes, the frame of single-object encoding ${SINGLE_OBJECT_FRAME}`,
    };
  for (let i = 0; i < 8; i++)
    if (bytes[start + 2 + i] !== fingerprint[i])
      return {
        reason: 'UNKNOWN_SCHEMA_ID',
        message: `the value names a schema with the fingerprint ${hex(bytes, start + 2, 8)}, the writer schema has ${hex(fingerprint, 0, 8)}`,
      };
  return undefined;
}

function hex(bytes: Uint8Array, from: number, count: number): string {
  let text = '0x';
  for (let i = from; i < from + count; i++) text += bytes[i].toString(16).padStart(2, '0');
  return text;
}
