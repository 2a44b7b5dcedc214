/** Values that JSON has no form for and that texts stand for: base64 and uuid. */

const BASE64 = new Int8Array(256).fill(-1);
for (let i = 0; i < 64; i++)
  BASE64['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.charCodeAt(i)] = i;

/**
 * Decodes base64 (RFC 4648, section 4; the padding may be left out, bits beyond the last byte must be zero) from
 * bytes [from, until) to `out` at `to`. Gives the number of bytes, or -1 for a text that is no base64.
 */
export function decodeBase64(
  bytes: Uint8Array,
  from: number,
  until: number,
  out: Uint8Array,
  to: number,
): number {
  let end = until;
  if (end > from && bytes[end - 1] === 0x3d && (until - from) % 4 === 0) {
    end--;
    if (end > from && bytes[end - 1] === 0x3d) end--;
  }
  const start = to;
  let bits = 0;
  let count = 0;
  for (let at = from; at < end; at++) {
    const six = BASE64[bytes[at]];
    if (six < 0) return -1;
    bits = (bits << 6) | six;
    if (++count === 4) {
      out[to++] = (bits >> 16) & 0xff;
      out[to++] = (bits >> 8) & 0xff;
      out[to++] = bits & 0xff;
      bits = 0;
      count = 0;
    }
  }
  if (count === 1) return -1;
  if (count === 2) {
    if ((bits & 0x0f) !== 0) return -1;
    out[to++] = bits >> 4;
  } else if (count === 3) {
    if ((bits & 0x03) !== 0) return -1;
    out[to++] = (bits >> 10) & 0xff;
    out[to++] = (bits >> 2) & 0xff;
  }
  return to - start;
}

/** Decodes 8-4-4-4-12 hexadecimal digits to the 16 bytes of `out`. False for any other text. */
export function decodeUuid(bytes: Uint8Array, from: number, until: number, out: Uint8Array): boolean {
  if (until - from !== 36) return false;
  let to = 0;
  for (let at = from; at < until; ) {
    const offset = at - from;
    if (offset === 8 || offset === 13 || offset === 18 || offset === 23) {
      if (bytes[at++] !== 0x2d) return false;
      continue;
    }
    const high = hex(bytes[at]);
    const low = hex(bytes[at + 1]);
    if (high < 0 || low < 0) return false;
    out[to++] = high * 16 + low;
    at += 2;
  }
  return true;
}

function hex(byte: number): number {
  if ((byte ^ 0x30) < 10) return byte ^ 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
