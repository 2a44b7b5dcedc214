/**
 * Sluice's JSON decoder over a file of documents, one a line, into columns that nobody keeps. A process of its own, so that
 * all it uses is counted. Arguments: the file, the number of its documents. Fails where a document is not decoded.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { BytesColumn } from '../../src/columns/bytes-column.ts';
import { parseSchemaText } from '../../src/core/schema-text/parse-schema-text.ts';
import type { JsonFormat } from '../../src/core/value-format.ts';
import { createJsonDecoder } from '../../src/decode/json/json-decoder.ts';
import { TYPED_DDL } from './typed-events.ts';

const PIECE_BYTES = 1024 * 1024;
/** A document is far shorter. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

const FORMAT: JsonFormat = {
  format: 'json',
  mode: 'quarantine',
  corruptRecordColumn: null,
  timeZone: 'UTC',
  compat: 'strict',
  unknownFields: 'ignore',
  caseInsensitive: false,
  timestampUnit: 'millis',
  decimalRounding: 'refuse',
  nullDocument: 'quarantine',
};

function main(path: string, documents: number): void {
  const decoder = createJsonDecoder(parseSchemaText(TYPED_DDL).fields, FORMAT);
  const values = new BytesColumn();
  const piece = Buffer.alloc(PIECE_BYTES + MAX_DOCUMENT_BYTES);
  const file = openSync(path, 'r');
  let decoded = 0;
  try {
    for (let held = 0; ; ) {
      const read = readSync(file, piece, held, PIECE_BYTES, null);
      if (read === 0) break;
      const end = held + read;
      let at = 0;
      values.clear();
      for (let line = piece.indexOf(NEWLINE); line >= 0 && line < end; line = piece.indexOf(NEWLINE, at)) {
        values.appendFrom(piece, at, line - at, true);
        at = line + 1;
      }
      decoder.decode(values);
      if (decoder.faults.length > 0) throw new Error(decoder.faults[0].message);
      decoded += values.length;
      piece.copyWithin(0, at, end);
      held = end - at;
    }
  } finally {
    closeSync(file);
  }
  if (decoded !== documents) throw new Error(`expected ${documents} documents, decoded ${decoded}`);
}

main(process.argv[2], Number(process.argv[3]));
