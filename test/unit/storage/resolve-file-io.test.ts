import { describe, expect, it } from 'vitest';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { resolveFileIO } from '../../../src/storage/resolve-file-io.ts';

describe('resolveFileIO', () => {
  it('picks by scheme', () => {
    for (const local of ['/a', 'a/b', './a', 'file:///a', 'file:/a'])
      expect(resolveFileIO(local)).toBeInstanceOf(LocalFileIO);
    expect(resolveFileIO('memory://x')).toBeInstanceOf(MemoryFileIO);
  });

  it.each([
    's3://b/k',
    's3a://b/k',
    's3n://b/k',
    'gs://b/k',
    'hdfs://n/x',
    'abfss://c@a/x',
    'https://h/x',
    'ftp://h/x',
  ])('refuses %s by name', (location) => {
    expect(() => resolveFileIO(location)).toThrowError(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        exitCode: 78,
        message: expect.stringContaining(location.slice(0, location.indexOf(':'))),
      }),
    );
  });
});
