/**
 * A Python with the packages of services/python/requirements.txt: a venv in the cache, filled once from the pinned list with hashes.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached } from './cache.mjs';
import { run, SetupError, which } from './process.mjs';

const REQUIREMENTS = fileURLToPath(new URL('../../services/python/requirements.txt', import.meta.url));
const OLDEST = [3, 10];

/**
 * The path of a Python interpreter that has PyIceberg, DuckDB and pyarrow.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<string>}
 * @throws {SetupError} when Python is missing or too old, or the packages cannot be fetched
 */
export async function pythonWithPackages({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const python = which('python3');
  if (python === undefined)
    throw new SetupError(
      'The tests of foreign readers need Python 3.10 or newer (`python3`), which is not installed.',
    );
  const version = (
    await run(python, ['-c', 'import sys; print(*sys.version_info[:3], sep=".")'])
  ).stdout.trim();
  const [major, minor] = version.split('.').map(Number);
  if (!(major === OLDEST[0] && minor >= OLDEST[1])) {
    throw new SetupError(
      `The tests of foreign readers need Python ${OLDEST.join('.')} or newer; \`python3\` is ${version || 'broken'}.`,
    );
  }
  const pins = [readFileSync(REQUIREMENTS), version, process.platform, process.arch];
  const venv = await cached(
    'python',
    pins,
    async (directory) => {
      log('Fetching the Python packages of the foreign readers (about 120 MB, once)');
      await must(
        run(python, ['-m', 'venv', directory]),
        'A Python venv could not be made (on Debian: apt install python3-venv)',
      );
      const pip = [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--only-binary',
        ':all:',
        '--require-hashes',
      ];
      await must(
        run(interpreter(directory), [...pip, '-r', REQUIREMENTS]),
        'The Python packages could not be fetched (is there a network?)',
      );
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
