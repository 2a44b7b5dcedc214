/**
 * `prepared/N` to its text and back. The record of a batch of tens of thousands of files is many megabytes long; as
 * objects it would take ten times as much. So the text is put together file by file, and read file by file.
 */
import type { DataFile, DataFiles } from '../core/data-file.ts';
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { PackedDataFiles } from '../core/packed-data-files.ts';
import { decodeDataFile, encodeDataFile } from './data-file-json.ts';
import { type Envelope, formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';
import { JsonObject } from './json-fields.ts';
import { decodeText, excerpt, Malformed } from './malformed.ts';
import { type FileTexts, splitPrepared } from './prepared-split.ts';
import { decodePrepared, encodePrepared } from './record-json.ts';
import type { PreparedBatch } from './records.ts';

const UTF8 = new TextEncoder();
/** Of the text of a table's first file: room for those whose numbers have more digits. */
const SPARE = 1.1;
const NO_FILES = '"files":[]';

/** The bytes of `prepared/N`: what `formatEnvelope` makes of `encodePrepared`. */
export function formatPrepared(writer: Writer, writtenAtMs: number, batch: PreparedBatch): Uint8Array {
  const tables = batch.tables.map((table) => ({ ...table, files: [] }));
  const record = encodePrepared({ ...batch, tables });
  const frame = Buffer.from(formatEnvelope('prepared', writer, writtenAtMs, record)).toString('utf8');
  const text = new GrowingText(
    batch.tables.reduce((sum, { files }) => sum + guessBytes(files), frame.length),
  );
  let at = 0;
  for (const { files } of batch.tables) {
    // A text of the record that looks the same has its quotes escaped.
    const place = frame.indexOf(NO_FILES, at) + NO_FILES.length - 1;
    text.append(frame.slice(at, place));
    let separator = '';
    for (const file of files) {
      text.append(separator + textOf(file));
      separator = ',';
    }
    at = place;
  }
  text.append(frame.slice(at));
  return text.bytes();
}

function textOf(file: DataFile): string {
  return stringifyJson64(encodeDataFile(file));
}

function guessBytes(files: DataFiles): number {
  for (const first of files) return Math.ceil(textOf(first).length * SPARE) * files.length;
  return 0;
}

/** Do two batches say the same? */
export function samePrepared(a: PreparedBatch, b: PreparedBatch): boolean {
  const nobody = { host: '', pid: 0, writerId: '' };
  return Buffer.compare(formatPrepared(nobody, 0, a), formatPrepared(nobody, 0, b)) === 0;
}

/** Reads `prepared/N`, of this version or an earlier one. Throws Malformed. */
export function parsePrepared(bytes: Uint8Array): Envelope<PreparedBatch> {
  const split = splitPrepared(bytes);
  // Whatever is not as expected is left to the plain way, and its messages.
  if (split === undefined) return parseEnvelope('prepared', bytes, decodePrepared);
  const envelope = parseEnvelope('prepared', split.frame, decodePrepared);
  const tables = envelope.record.tables.map((table, i) => {
    const texts = split.files[i];
    return texts === undefined ? table : { ...table, files: readFiles(bytes, texts, i) };
  });
  return { ...envelope, record: { ...envelope.record, tables } };
}

function readFiles(bytes: Uint8Array, texts: FileTexts, table: number): PackedDataFiles {
  const files = new PackedDataFiles();
  for (let i = 0; i < texts.length; i += 2) {
    const text = decodeText(bytes.subarray(texts[i], texts[i + 1]));
    const where = `record.tables[${table}].files[${i / 2}]`;
    files.add(decodeDataFile(new JsonObject(parsed(text, where), where)));
  }
  return files;
}

function parsed(text: string, where: string): unknown {
  try {
    return parseJson64(text);
  } catch {
    throw new Malformed(`${where} is no JSON: it begins with ${excerpt(text)}`);
  }
}

/** Text as UTF-8 in one buffer, which grows where the guess of its size was too low. */
class GrowingText {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  append(text: string): void {
    for (let rest = text; ; ) {
      const { read, written } = UTF8.encodeInto(rest, this.#bytes.subarray(this.#length));
      this.#length += written;
      if (read === rest.length) return;
      rest = rest.slice(read);
      // A character takes three bytes at most.
      const grown = new Uint8Array(Math.ceil(this.#bytes.length * 1.25) + rest.length * 3);
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}
