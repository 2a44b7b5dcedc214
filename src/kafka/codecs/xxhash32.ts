const PRIME1 = 0x9e3779b1;
const PRIME2 = 0x85ebca77;
const PRIME3 = 0xc2b2ae3d;
const PRIME4 = 0x27d4eb2f;
const PRIME5 = 0x165667b1;

/** xxHash32 with seed 0 of bytes [start, end), unsigned: the checksum of LZ4 frames. `view` is over exactly `bytes`. */
export function xxhash32(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  let at = start;
  let hash = PRIME5 | 0;
  if (end - start >= 16) {
    let a = (PRIME1 + PRIME2) | 0;
    let b = PRIME2 | 0;
    let c = 0;
    let d = -PRIME1 | 0;
    for (; at + 16 <= end; at += 16) {
      a = round(a, view.getInt32(at, true));
      b = round(b, view.getInt32(at + 4, true));
      c = round(c, view.getInt32(at + 8, true));
      d = round(d, view.getInt32(at + 12, true));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  }
  hash = (hash + (end - start)) | 0;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(rotate((hash + Math.imul(view.getInt32(at, true), PRIME3)) | 0, 17), PRIME4);
  }
  for (; at < end; at++) {
    hash = Math.imul(rotate((hash + Math.imul(bytes[at], PRIME5)) | 0, 11), PRIME1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, PRIME2)) | 0, 13), PRIME1);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
