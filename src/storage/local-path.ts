import { SluiceError } from '../errors.ts';

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/** The scheme of a location in lower case, or undefined for a plain path. A single letter is no scheme (`C:\x`). */
export function schemeOf(location: string): string | undefined {
  const m = SCHEME.exec(location);
  return m === null || m[1].length < 2 || !location.startsWith('/', m[0].length)
    ? undefined
    : m[1].toLowerCase();
}

/**
 * The path of the file system behind a plain path or a `file:` location.
 *
 * Both are taken literally: nothing is percent-decoded, `?` and `#` are ordinary characters. So do Hadoop's `Path`
 * (Spark, Iceberg's Java library), PyIceberg and DuckDB: a partition directory `city=a%20b` is called so on disk,
 * whether its location reads `/w/city=a%20b` or `file:///w/city=a%20b`; decoding it would make files that no other
 * engine finds. Accepted forms: `/a/b`, `a/b` (against the working directory), `file:/a/b`, `file:///a/b`,
 * `file://localhost/a/b`. Throws UNSUPPORTED for any other scheme or host, STORAGE_ERROR for a path with a NUL.
 */
export function toLocalPath(location: string): string {
  if (location.includes('\0')) {
    throw new SluiceError(
      'STORAGE_ERROR',
      `the path ${JSON.stringify(location)} holds a NUL character, which no file system takes`,
    );
  }
  const scheme = schemeOf(location);
  if (scheme === undefined) return location;
  if (scheme !== 'file') {
    throw new SluiceError(
      'UNSUPPORTED',
      `${location} is not a local path: expected a plain path or file:///..., found the scheme ${scheme}:`,
    );
  }
  const rest = location.slice('file:'.length);
  if (!rest.startsWith('//')) return rest;
  const slash = rest.indexOf('/', 2);
  const host = slash === -1 ? rest.slice(2) : rest.slice(2, slash);
  if (slash === -1 || (host !== '' && host !== 'localhost')) {
    throw new SluiceError(
      'UNSUPPORTED',
      `${location} names ${host === '' ? 'no path' : `the host "${host}"`}: write file:///absolute/path with three slashes`,
    );
  }
  return rest.slice(slash);
}
