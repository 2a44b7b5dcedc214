import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isTemporaryName, temporaryName } from '../../../src/storage/temporary-name.ts';

describe('temporary names', () => {
  it('are hidden, beside the name, and known again', () => {
    const uuid = randomUUID();
    expect(temporaryName('7', uuid)).toBe(`.7.${uuid}.tmp`);
    for (const name of [
      '7',
      'a.parquet',
      'x'.repeat(210),
      'x'.repeat(240),
      '서울'.repeat(40),
      'line\nbreak',
      '',
    ]) {
      const temporary = temporaryName(name, uuid);
      expect(Buffer.byteLength(temporary)).toBeLessThanOrEqual(255);
      expect(isTemporaryName(temporary)).toBe(true);
    }
  });

  it('are not what people and Hadoop call their files', () => {
    for (const name of [
      '7',
      '.7.crc',
      '.hidden',
      'x.tmp',
      '.x.tmp',
      '.7.tmp',
      `7.${randomUUID()}.tmp`,
      `.7.${randomUUID()}.tmp.parquet`,
    ]) {
      expect(isTemporaryName(name)).toBe(false);
    }
  });
});
