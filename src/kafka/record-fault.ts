/**
 * What is wrong with the bytes of one record batch. Thrown by the leaves of the decoder, which know no topic and no
 * offset; `RecordSetDecoder` turns it into a `SluiceError` that names them, with this fault as its cause.
 */
export class RecordFault extends Error {
  /** `damaged`: the bytes are not what they must be. `codec`: unknown codec id. `memory`: it needs more bytes than it may. */
  readonly kind: 'damaged' | 'codec' | 'memory';

  constructor(message: string, kind: 'damaged' | 'codec' | 'memory' = 'damaged') {
    super(message);
    this.name = 'RecordFault';
    this.kind = kind;
  }
}

/** The fault of output that would not fit: `needed` bytes where the format tells them. */
export function memoryFault(maxBytes: number, needed?: number): RecordFault {
  const size = needed === undefined ? `more than ${maxBytes}` : String(needed);
  return new RecordFault(`it needs ${size} bytes uncompressed and may need at most ${maxBytes}`, 'memory');
}

/** The fault of an entry that does not follow the one before it in the same record set. */
export function orderFault(firstOffset: bigint, previousOffset: bigint): RecordFault {
  return new RecordFault(
    `its first offset ${firstOffset} does not follow ${previousOffset}, the last of the batch before`,
  );
}
