import { describe, expect, it } from 'vitest';
import { schemeOf, toLocalPath } from '../../../src/storage/local-path.ts';

describe('toLocalPath', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['a/b', 'a/b'],
    ['./w/t', './w/t'],
    ['file:///a/b', '/a/b'],
    ['file:/a/b', '/a/b'],
    ['file://localhost/a/b', '/a/b'],
    ['FILE:///a/b', '/a/b'],
    ['file:///', '/'],
  ])('%s is %s', (location, path) => expect(toLocalPath(location)).toBe(path));

  it.each([
    '/w/city=a b',
    '/w/city=a%20b',
    '/w/100%',
    '/w/%zz',
    '/w/a?b#c',
    '/w/서울',
    '/w/a+b',
    '/w//double',
  ])('takes %s literally, as a plain path and as a file: location', (path) => {
    expect(toLocalPath(path)).toBe(path);
    expect(toLocalPath(`file://${path}`)).toBe(path);
    expect(toLocalPath(`file:${path}`)).toBe(path);
  });

  it.each([
    ['file://server/share/x', 'the host "server"'],
    ['file://', 'no path'],
    ['file://localhost', 'the host'],
    ['s3://bucket/key', 'scheme s3:'],
  ])('refuses %s', (location, words) => {
    expect(() => toLocalPath(location)).toThrowError(
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining(words) }),
    );
  });

  it('refuses a NUL', () => {
    expect(() => toLocalPath('/a/\0b')).toThrowError(expect.objectContaining({ code: 'STORAGE_ERROR' }));
  });
});

describe('schemeOf', () => {
  it.each([
    ['s3://b/k', 's3'],
    ['S3A://b/k', 's3a'],
    ['file:/a', 'file'],
    ['memory://x', 'memory'],
    ['/a:b/c', undefined],
    ['a:b', undefined],
    ['C:/x', undefined],
    ['topic:name/x', undefined],
    ['', undefined],
  ])('%s -> %s', (location, scheme) => expect(schemeOf(location)).toBe(scheme));
});
