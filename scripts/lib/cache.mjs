/**
 * The cache of what is fetched once for this machine: jars and Python packages. It lies outside the tree. Each entry is named by
 * the hash of the files that pin it, is filled beside its place and moved there when whole, and is filled by one process at a time.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { atExit, isAlive, pause } from './process.mjs';

const COMPLETE = '.complete';

/** `SLUICE_CACHE_DIR`, else `$XDG_CACHE_HOME/sluice`, else `~/.cache/sluice`. */
export function cacheDirectory(env = process.env) {
  if (env.SLUICE_CACHE_DIR) return resolve(env.SLUICE_CACHE_DIR);
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice');
}

/** The first 16 hex digits of the SHA-256 over the given texts and files' contents. @param {(string | Buffer)[]} parts */
export function hashOf(parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** The SHA-256 of a file in hex. @param {string} path */
export function sha256OfFile(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/**
 * The directory of a cache entry, filled if it is not there yet. A fill that was cut off is started again.
 * @param {string} name for example `kafka`
 * @param {(string | Buffer)[]} pins what the entry depends on
 * @param {(directory: string) => Promise<void>} fill fills a new, empty directory
 * @param {{ inPlace?: boolean, env?: NodeJS.ProcessEnv }} options `inPlace`: fill at the final path, for contents that hold
 *   their own path (a Python venv)
 */
export async function cached(name, pins, fill, options = {}) {
  const directory = join(cacheDirectory(options.env), `${name}-${hashOf(pins)}`);
  if (existsSync(join(directory, COMPLETE))) return directory;
  return withLock(`${directory}.lock`, async () => {
    if (existsSync(join(directory, COMPLETE))) return directory;
    const target = options.inPlace ? directory : `${directory}.part`;
    rmSync(target, { recursive: true, force: true });
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    await fill(target);
    writeFileSync(join(target, COMPLETE), `${new Date().toISOString()}\n`);
    if (target !== directory) renameSync(target, directory);
    return directory;
  });
}

/**
 * Runs `body` while holding a lock file that names its holder. A lock whose holder is gone is taken over.
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
export async function withLock(path, body) {
  mkdirSync(dirname(path), { recursive: true });
  while (!takeLock(path)) await pause(200);
  const release = () => rmSync(path, { force: true });
  const forget = atExit(release);
  try {
    return await body();
  } finally {
    forget();
    release();
  }
}

/** @param {string} path */
function takeLock(path) {
  const holder = `${hostname()} ${process.pid}`;
  try {
    writeFileSync(path, holder, { flag: 'wx' });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const seen = staleHolder(path);
  if (seen !== undefined) buryLock(path, seen);
  return false;
}

/**
 * Moves a stale lock away. Of several waiters one succeeds; one that came so late that it moved the new holder's lock puts it back.
 * @param {string} path  @param {string} seen the contents that were found stale
 */
function buryLock(path, seen) {
  const grave = `${path}.${process.pid}`;
  try {
    renameSync(path, grave);
    if (readFileSync(grave, 'utf8') !== seen) linkSync(grave, path);
  } catch {
    // another waiter was faster
  }
  rmSync(grave, { force: true });
}

/** The contents of a lock whose holder is gone; undefined while the lock is good. @param {string} path */
function staleHolder(path) {
  try {
    const holder = readFileSync(path, 'utf8');
    const [host, pid] = holder.split(' ');
    // A lock without contents is one that is just being written, or one whose writer died in between.
    const stale = pid
      ? host === hostname() && !isAlive(Number(pid))
      : Date.now() - statSync(path).mtimeMs > 10_000;
    return stale ? holder : undefined;
  } catch {
    return undefined;
  }
}
