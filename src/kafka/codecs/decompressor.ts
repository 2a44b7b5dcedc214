import { memoryFault, RecordFault } from '../record-fault.ts';
import { gunzip } from './gzip.ts';
import { Lz4Decoder } from './lz4.ts';
import { SnappyDecoder } from './snappy.ts';
import { ZstdDecoder } from './zstd.ts';

/** Uncompressed records: `bytes[start, end)`; `view` is over exactly `bytes`. Valid until the next call. */
export interface Uncompressed {
  bytes: Uint8Array;
  view: DataView;
  start: number;
  end: number;
}

/** The codecs of Kafka's record batches (attributes bits 0 to 2), by their ids 0 to 4. */
export class Decompressor {
  readonly maxBytes: number;
  private readonly snappy: SnappyDecoder;
  private readonly lz4: Lz4Decoder;
  private readonly zstd: ZstdDecoder;
  private readonly result: Uncompressed = {
    bytes: new Uint8Array(0),
    view: new DataView(new ArrayBuffer(0)),
    start: 0,
    end: 0,
  };

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
    this.snappy = new SnappyDecoder(maxBytes);
    this.lz4 = new Lz4Decoder(maxBytes);
    this.zstd = new ZstdDecoder(maxBytes);
  }

  /**
   * Uncompresses bytes[start, end). The result is reused: it is valid until the next call.
   * Throws RecordFault: `codec` for an unknown id, `memory` beyond `maxBytes`, `damaged` otherwise.
   */
  run(codec: number, bytes: Uint8Array, view: DataView, start: number, end: number): Uncompressed {
    switch (codec) {
      case 0:
        if (end - start > this.maxBytes) throw memoryFault(this.maxBytes, end - start);
        return this.give(bytes, view, start, end);
      case 1:
        return this.giveAll(gunzip(bytes, view, start, end, this.maxBytes));
      case 2:
        return this.giveAll(this.snappy.decode(bytes, view, start, end));
      case 3:
        return this.giveAll(this.lz4.decode(bytes, view, start, end));
      case 4:
        return this.giveAll(this.zstd.decode(bytes, view, start, end));
      default:
        throw new RecordFault(
          `unknown compression codec id ${codec}; 0 none, 1 gzip, 2 snappy, 3 lz4 and 4 zstd are known`,
          'codec',
        );
    }
  }

  private giveAll(output: Uint8Array): Uncompressed {
    return this.give(output, new DataView(output.buffer, output.byteOffset, output.length), 0, output.length);
  }

  private give(bytes: Uint8Array, view: DataView, start: number, end: number): Uncompressed {
    const { result } = this;
    result.bytes = bytes;
    result.view = view;
    result.start = start;
    result.end = end;
    return result;
  }
}
