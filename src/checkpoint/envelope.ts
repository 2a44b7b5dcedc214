/** What stands around every record of `_sluice/`: format, kind, who wrote it and when. */
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { JsonObject } from './json-fields.ts';
import { decodeText, excerpt, Malformed } from './malformed.ts';

const FORMAT = 1;
const UTF8 = new TextEncoder();

/** One running process: `writerId` is made anew at each start. */
export interface Writer {
  host: string;
  pid: number;
  writerId: string;
}

export interface Envelope<T> {
  writer: Writer;
  writtenAt: string;
  record: T;
}

export function formatEnvelope(
  kind: string,
  writer: Writer,
  writtenAtMs: number,
  record: unknown,
): Uint8Array {
  const { host, pid, writerId } = writer;
  const writtenAt = new Date(writtenAtMs).toISOString();
  return UTF8.encode(
    `${stringifyJson64({ format: FORMAT, kind, writer: { host, pid, writerId }, writtenAt, record })}\n`,
  );
}

/** Throws Malformed: corrupt, or of a format that is not known. */
export function parseEnvelope<T>(
  kind: string,
  bytes: Uint8Array,
  decode: (record: JsonObject) => T,
): Envelope<T> {
  const text = decodeText(bytes);
  let json: unknown;
  try {
    json = parseJson64(text);
  } catch {
    throw new Malformed(`it is no JSON, or cut off: it ends with ${excerpt(text.slice(-40))}`);
  }
  const o = new JsonObject(json, '');
  const format = o.integer('format');
  if (format !== FORMAT)
    throw new Malformed(`its format is ${format}, and this version of Sluice knows ${FORMAT}`, 'version');
  o.oneOf('kind', [kind]);
  const writer = o.object('writer');
  return {
    writer: { host: writer.string('host'), pid: writer.integer('pid'), writerId: writer.string('writerId') },
    writtenAt: o.string('writtenAt'),
    record: decode(o.object('record')),
  };
}

/** `host a, process 12 (writer 3f2a...)`. */
export function describeWriter(writer: Writer): string {
  return `host ${writer.host}, process ${writer.pid} (writer ${writer.writerId})`;
}
