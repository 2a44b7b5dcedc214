/** Murmur3, 32 bit, x86 variant, seed 0: the hash of the bucket transform (Iceberg spec, appendix B). */

/** A signed 32-bit hash of the bytes. */
export function murmur3(bytes: Uint8Array): number {
  const blocks = bytes.length & ~3;
  let hash = 0;
  for (let i = 0; i < blocks; i += 4) {
    hash = mixHash(hash, bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24));
  }
  if (blocks < bytes.length) {
    let tail = 0;
    for (let i = bytes.length - 1; i >= blocks; i--) tail = (tail << 8) | bytes[i];
    hash ^= mixKey(tail);
  }
  return finish(hash, bytes.length);
}

/** The hash of a long's eight little-endian bytes, without making them. Also the hash of int and date. */
export function murmur3Long(value: bigint): number {
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  return finish(mixHash(mixHash(0, low), high), 8);
}

function mixKey(key: number): number {
  const k = Math.imul(key, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}

function mixHash(hash: number, key: number): number {
  const h = hash ^ mixKey(key);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, length: number): number {
  let h = hash ^ length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
