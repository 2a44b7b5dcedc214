import { describe, expect, it } from 'vitest';
import { crc32cOf, crc32Of } from '../../../src/kafka/crc32c.ts';

describe('checksums', () => {
  const check = new TextEncoder().encode('..123456789..');

  it('gives the check values of CRC-32C and CRC-32', () => {
    expect(crc32cOf(check, 2, 11)).toBe(0xe3069283);
    expect(crc32Of(check, 2, 11)).toBe(0xcbf43926);
  });

  it('gives the vectors of RFC 3720 B.4', () => {
    expect(crc32cOf(new Uint8Array(32), 0, 32)).toBe(0x8a9136aa);
    expect(crc32cOf(new Uint8Array(32).fill(0xff), 0, 32)).toBe(0x62a8ab43);
    expect(
      crc32cOf(
        Uint8Array.from({ length: 32 }, (_, i) => i),
        0,
        32,
      ),
    ).toBe(0x46dd794e);
  });

  it('counts positions from the view, not from its buffer', () => {
    const view = new Uint8Array(check.buffer, 1);
    expect(crc32cOf(view, 1, 10)).toBe(0xe3069283);
    expect(crc32Of(view, 1, 10)).toBe(0xcbf43926);
  });

  it('is 0 for nothing', () => {
    expect(crc32cOf(check, 3, 3)).toBe(0);
    expect(crc32Of(check, 3, 3)).toBe(0);
  });
});
