/**
 * The first step of every script: the packages of package-lock.json are installed, and the Node.js that they bring is used.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './cache.mjs';
import { atExit, guardProcess, run, SetupError, stopChild, which } from './process.mjs';

/** The repository's root. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BIN = join(ROOT, 'node_modules', '.bin');

/**
 * Installs what is missing and returns the Node.js to run Sluice with.
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} `env` has `node_modules/.bin` first in PATH
 * @throws {SetupError} when npm is missing or fails
 */
export async function setup() {
  if (!isInStep()) {
    await withLock(join(ROOT, '.sluice', 'setup.lock'), async () => {
      if (!isInStep()) await install();
    });
  }
  const node = join(BIN, 'node');
  const { code, stdout } = await run(node, ['--version']);
  if (code !== 0) {
    throw new SetupError(
      'npm installed the packages, but not the Node.js among them (node_modules/.bin/node): ' +
        'allow install scripts (`npm config delete ignore-scripts`) and run `npm ci`.',
    );
  }
  if (!isNewEnough(stdout.trim()))
    throw new SetupError(`node_modules/.bin/node is ${stdout.trim()}; Sluice needs 22.22 or newer.`);
  return { node, env: { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}` } };
}

/** Does node_modules hold what package-lock.json says? */
function isInStep() {
  const stamp = join(ROOT, 'node_modules', '.sluice-lock');
  const hash = lockHash();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === hash) return true;
  if (!matchesHiddenLock()) return false;
  writeFileSync(stamp, `${hash}\n`);
  return true;
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex');
}

/** npm keeps beside the packages a list of what it installed: someone who ran `npm ci` by hand need not wait for another. */
function matchesHiddenLock() {
  const hidden = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden) || !existsSync(join(BIN, 'node'))) return false;
  const installed = JSON.parse(readFileSync(hidden, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  for (const [path, { version, integrity, optional }] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    if (found === undefined ? !optional : found.version !== version || found.integrity !== integrity)
      return false;
  }
  return Object.keys(installed).every((path) => wanted[path] !== undefined);
}

async function install() {
  const npm = which('npm');
  if (npm === undefined)
    throw new SetupError('npm is not installed; it comes with Node.js. Install Node.js and run this again.');
  process.stderr.write('Installing the packages of package-lock.json (npm ci)\n');
  const { code, stdout, stderr } = await run(npm, ['ci', '--no-audit', '--no-fund'], { cwd: ROOT });
  if (code === 0) {
    writeFileSync(join(ROOT, 'node_modules', '.sluice-lock'), `${lockHash()}\n`);
    return;
  }
  const lines = `${stdout}\n${stderr}`
    .split('\n')
    .filter((line) => /^npm (error|ERR!) (?!A complete log)/.test(line));
  const reason = lines
    .slice(0, 4)
    .map((line) => line.replace(/^npm (error|ERR!) /, ''))
    .join('; ');
  throw new SetupError(`\`npm ci\` failed (is there a network?): ${reason || `exit code ${code}`}`);
}

/** @param {string} version for example `v24.21.0` */
function isNewEnough(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 22);
}

/**
 * Runs a program of the repository to its end on this terminal. It is stopped when this process is.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} its exit code; 128 plus the signal where a signal ended it
 */
export function runHere(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio: 'inherit' });
    child.once('error', reject);
    if (child.pid === undefined) return;
    const release = guardProcess(child.pid);
    const forget = atExit(() => stopChild(child));
    child.once('exit', (code, signal) => {
      release();
      forget();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
