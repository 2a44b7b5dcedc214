import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheDirectory, cached, withLock } from '../../../scripts/lib/cache.mjs';

let root: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-cache-'));
  env = { SLUICE_CACHE_DIR: root };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const fill = (text: string) => async (directory: string) => writeFileSync(join(directory, 'file'), text);

describe('cacheDirectory', () => {
  it('is SLUICE_CACHE_DIR, else under XDG_CACHE_HOME, else under ~/.cache', () => {
    expect(cacheDirectory({ SLUICE_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
    expect(cacheDirectory({ XDG_CACHE_HOME: '/b' })).toBe('/b/sluice');
    expect(cacheDirectory({})).toBe(join(homedir(), '.cache', 'sluice'));
  });
});

describe('cached', () => {
  it.each([false, true])(
    'fills an entry once, for all who ask at the same time (in place: %s)',
    async (inPlace) => {
      let fills = 0;
      const ask = () =>
        cached(
          'x',
          ['pin'],
          async (directory) => {
            fills++;
            await fill('whole')(directory);
          },
          { env, inPlace },
        );
      const [first, ...others] = await Promise.all([ask(), ask(), ask()]);
      expect(others).toEqual([first, first]);
      expect(await ask()).toBe(first);
      expect(fills).toBe(1);
      expect(readFileSync(join(first, 'file'), 'utf8')).toBe('whole');
      expect(readdirSync(root)).toEqual([first.slice(root.length + 1)]);
    },
  );

  it('is another entry for other pins', async () => {
    const one = await cached('x', ['1'], fill('one'), { env });
    const two = await cached('x', ['2'], fill('two'), { env });
    expect(one).not.toBe(two);
    expect(readFileSync(join(one, 'file'), 'utf8')).toBe('one');
  });

  it.each([false, true])('starts again after a fill that was cut off (in place: %s)', async (inPlace) => {
    const cut = cached(
      'x',
      ['pin'],
      async (directory) => {
        writeFileSync(join(directory, 'half'), '');
        throw new Error('cut off');
      },
      { env, inPlace },
    );
    await expect(cut).rejects.toThrow('cut off');
    const entry = await cached('x', ['pin'], fill('whole'), { env, inPlace });
    expect(existsSync(join(entry, 'half'))).toBe(false);
    expect(readFileSync(join(entry, 'file'), 'utf8')).toBe('whole');
  });
});

describe('withLock', () => {
  it('lets one in at a time and frees the lock after a failure', async () => {
    const lock = join(root, 'lock');
    let inside = 0;
    const enter = async () => {
      expect(++inside).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all([withLock(lock, enter), withLock(lock, enter), withLock(lock, enter)]);
    await expect(withLock(lock, () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
    await withLock(lock, enter);
    expect(readdirSync(root)).toEqual([]);
  });

  it('takes over the lock of a process that is gone', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const lock = join(root, 'lock');
    writeFileSync(lock, `${hostname()} ${pid}`);
    expect(await Promise.all([withLock(lock, async () => 1), withLock(lock, async () => 2)])).toEqual([1, 2]);
  });
});
