/**
 * Pythons with pinned packages: a venv in the cache for each list, filled once from it with hashes.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached } from './cache.mjs';
import { run, SetupError, which } from './process.mjs';

const SERVICES = fileURLToPath(new URL('../../services/', import.meta.url));
const OLDEST = [3, 10];

/**
 * The path of a Python interpreter that has PyIceberg, DuckDB and pyarrow.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<string>}
 * @throws {SetupError} when Python is missing or too old, or the packages cannot be fetched
 */
export function pythonWithPackages({ log = toStderr } = {}) {
  return pinnedPython({
    name: 'python',
    lists: ['python/requirements.txt'],
    user: 'The tests of foreign readers need',
    what: 'the Python packages of the foreign readers (about 120 MB)',
    flags: ['--only-binary', ':all:'],
    log,
  });
}

/**
 * The path of a Python interpreter with the packages of lists under services/, installed one list after the other.
 * @param {object} wanted
 * @param {string} wanted.name of the entry in the cache
 * @param {string[]} wanted.lists for example `python/requirements.txt`
 * @param {string} wanted.user who needs it, for messages: `The tests need`
 * @param {string} wanted.what is fetched, for messages
 * @param {string[]} wanted.flags of pip, beside those that make it take the pinned packages only
 * @param {(line: string) => void} wanted.log
 * @returns {Promise<string>}
 * @throws {SetupError} when Python is missing or too old, or the packages cannot be fetched
 */
export async function pinnedPython({ name, lists, user, what, flags, log }) {
  const python = which('python3');
  if (python === undefined)
    throw new SetupError(
      `${user} Python ${OLDEST.join('.')} or newer (\`python3\`), which is not installed.`,
    );
  const version = (
    await run(python, ['-c', 'import sys; print(*sys.version_info[:3], sep=".")'])
  ).stdout.trim();
  const [major, minor] = version.split('.').map(Number);
  if (!(major === OLDEST[0] && minor >= OLDEST[1])) {
    throw new SetupError(
      `${user} Python ${OLDEST.join('.')} or newer; \`python3\` is ${version || 'broken'}.`,
    );
  }
  const paths = lists.map((list) => join(SERVICES, list));
  const pins = [...paths.map((path) => readFileSync(path)), version, process.platform, process.arch];
  const venv = await cached(
    name,
    pins,
    async (directory) => {
      log(`Fetching ${what}, once`);
      await must(
        run(python, ['-m', 'venv', directory]),
        'A Python venv could not be made (on Debian: apt install python3-venv)',
      );
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
      for (const path of paths) {
        await must(
          run(interpreter(directory), [...pip, ...flags, '-r', path]),
          `pip could not fetch ${what} (is there a network?)`,
        );
      }
    },
    // The scripts of a venv hold its path.
    { inPlace: true },
  );
  return interpreter(venv);
}

/** @param {string} venv */
function interpreter(venv) {
  return join(venv, 'bin', 'python');
}

/** @param {ReturnType<typeof run>} running  @param {string} what */
async function must(running, what) {
  const { code, stdout, stderr } = await running;
  if (code !== 0)
    throw new SetupError(`${what}: ${(stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ')}`);
}

/** @param {string} line */
function toStderr(line) {
  process.stderr.write(`${line}\n`);
}
