import { crc32 } from '@node-rs/crc32';
import { ENCODING, PAGE_TYPE } from './format.ts';
import type { ThriftWriter } from './thrift-writer.ts';

/** The PageHeader of a data page of version 1. The view is good until the writer is used again. */
export function encodeDataPageHeader(
  thrift: ThriftWriter,
  page: { rawBytes: number; compressed: Uint8Array; entries: number; encoding: number },
): Uint8Array {
  begin(thrift, PAGE_TYPE.DATA, page.rawBytes, page.compressed);
  thrift.structField(5);
  thrift.i32Field(1, page.entries);
  thrift.i32Field(2, page.encoding);
  thrift.i32Field(3, ENCODING.RLE);
  thrift.i32Field(4, ENCODING.RLE);
  thrift.endStruct();
  thrift.endStruct();
  return thrift.bytes();
}

/** The PageHeader of a dictionary page. The view is good until the writer is used again. */
export function encodeDictionaryPageHeader(
  thrift: ThriftWriter,
  page: { rawBytes: number; compressed: Uint8Array; entries: number },
): Uint8Array {
  begin(thrift, PAGE_TYPE.DICTIONARY, page.rawBytes, page.compressed);
  thrift.structField(7);
  thrift.i32Field(1, page.entries);
  thrift.i32Field(2, ENCODING.PLAIN);
  thrift.endStruct();
  thrift.endStruct();
  return thrift.bytes();
}

function begin(thrift: ThriftWriter, type: number, rawBytes: number, compressed: Uint8Array): void {
  thrift.clear();
  thrift.beginStruct();
  thrift.i32Field(1, type);
  thrift.i32Field(2, rawBytes);
  thrift.i32Field(3, compressed.length);
  // of the bytes as they are in the file, so that a reader tells a damaged page before it unpacks it
  thrift.i32Field(4, crc32(compressed) | 0);
}
