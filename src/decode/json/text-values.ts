/** Values that JSON has no form for and that texts stand for: base64 and uuid. */

const BASE64 = new Int8Array(256).fill(-1);
for (let i = 0; i < 64; i++)
  BASE64['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.charCodeAt(i)] = i;

/**
 * How many bytes the base64 text [from, until) stands for (RFC 4648, section 4; the padding may be left out, bits beyond
 * the last byte must be zero); -1 for a text that is no base64.
 */
export function base64Size(bytes: Uint8Array, from: number, until: number): number {
  const end = base64End(bytes, from, until);
  for (let at = from; at < end; at++) if (BASE64[bytes[at]] < 0) return -1;
  const rest = (end - from) % 4;
  if (rest === 1) return -1;
  if (rest !== 0 && (BASE64[bytes[end - 1]] & (rest === 2 ? 0x0f : 0x03)) !== 0) return -1;
  return Math.floor(((end - from) * 3) / 4);
}

/** Where the digits of a base64 text end and its padding begins. */
function base64End(bytes: Uint8Array, from: number, until: number): number {
  if (until === from || (until - from) % 4 !== 0 || bytes[until - 1] !== 0x3d) return until;
  return bytes[until - 2] === 0x3d ? until - 2 : until - 1;
}

/** Decodes a text that `base64Size` has taken to `out`, from `to`. */
export function decodeBase64(
  bytes: Uint8Array,
  from: number,
  until: number,
  out: Uint8Array,
  to: number,
): void {
  const end = base64End(bytes, from, until);
  let bits = 0;
  let count = 0;
  for (let at = from; at < end; at++) {
    bits = (bits << 6) | BASE64[bytes[at]];
    if (++count === 4) {
      out[to++] = (bits >> 16) & 0xff;
      out[to++] = (bits >> 8) & 0xff;
      out[to++] = bits & 0xff;
      bits = 0;
      count = 0;
    }
  }
  if (count === 2) {
    out[to] = bits >> 4;
  } else if (count === 3) {
    out[to] = (bits >> 10) & 0xff;
    out[to + 1] = (bits >> 2) & 0xff;
  }
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
