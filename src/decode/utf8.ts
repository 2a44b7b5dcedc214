/**
 * The position of the first byte that is not part of a well-formed UTF-8 sequence (Unicode 15, table 3-7: no overlong
 * forms, no surrogates, nothing above U+10FFFF), or -1 where all of [0, length) is well formed. A sequence cut by the
 * end is reported at its first byte.
 */
export function firstInvalidUtf8(bytes: Uint8Array): number {
  const length = bytes.length;
  let at = 0;
  while (at < length) {
    const lead = bytes[at];
    if (lead < 0x80) {
      at++;
      continue;
    }
    const size = sequenceSize(lead);
    if (size === 0 || at + size > length || !secondByteFits(lead, bytes[at + 1])) return at;
    for (let i = 2; i < size; i++) {
      if ((bytes[at + i] & 0xc0) !== 0x80) return at;
    }
    at += size;
  }
  return -1;
}

function sequenceSize(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

function secondByteFits(lead: number, second: number): boolean {
  if (lead === 0xe0) return second >= 0xa0 && second <= 0xbf;
  if (lead === 0xed) return second >= 0x80 && second <= 0x9f;
  if (lead === 0xf0) return second >= 0x90 && second <= 0xbf;
  if (lead === 0xf4) return second >= 0x80 && second <= 0x8f;
  return second >= 0x80 && second <= 0xbf;
}
