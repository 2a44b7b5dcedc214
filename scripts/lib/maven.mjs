/**
 * Java programs from Maven's repository: the jars of a pinned pom in the cache, each with its pinned checksum.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, sha256OfFile } from './cache.mjs';
import { run, SetupError, which } from './process.mjs';

const SERVICES = fileURLToPath(new URL('../../services/', import.meta.url));

/** The `java` program of version 17 or newer, or undefined. */
export async function findJava() {
  const home = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : undefined;
  for (const java of [home, which('java')]) {
    if (java === undefined || !existsSync(java)) continue;
    const { code, stderr } = await run(java, ['-version']);
    const version = /version "(\d+)/.exec(stderr)?.[1];
    if (code === 0 && Number(version) >= 17) return java;
  }
  return undefined;
}

/**
 * The directory with the jars of `services/SERVICE/pom.xml`, as `jars.sha256` beside it lists them. Undefined when they would have to
 * be fetched and there is no Maven.
 * @param {string} service
 * @param {string} what for messages, for example `Apache Kafka 4.3.1 (about 45 MB)`
 * @param {(line: string) => void} log
 * @param {'copy-dependencies' | 'copy'} how `copy`: the artifacts of the plugin's configuration, without what they depend on
 * @returns {Promise<string | undefined>}
 * @throws {SetupError} when Maven fails, or brings other jars
 */
export async function pinnedJars(service, what, log, how = 'copy-dependencies') {
  const pom = join(SERVICES, service, 'pom.xml');
  const list = readFileSync(join(SERVICES, service, 'jars.sha256'), 'utf8');
  class NoMaven extends Error {}
  try {
    return await cached(service, [readFileSync(pom), list], async (directory) => {
      const mvn = which('mvn');
      if (mvn === undefined) throw new NoMaven();
      log(`Fetching ${what}, once`);
      const goal = [
        '-q',
        '-B',
        '-Dstyle.color=never',
        '-f',
        pom,
        `dependency:${how}`,
        `-DoutputDirectory=${directory}`,
      ];
      const { code, stdout, stderr } = await run(mvn, goal);
      if (code !== 0) {
        const lines = (stdout + stderr).split('\n').filter((line) => line.includes('ERROR'));
        throw new SetupError(
          `Maven could not fetch ${what} (is there a network?): ${lines[0] ?? `exit code ${code}`}`,
        );
      }
      checkJars(directory, list, `services/${service}/jars.sha256`);
    });
  } catch (error) {
    if (error instanceof NoMaven) return undefined;
    throw error;
  }
}

/** @param {string} directory  @param {string} list lines of `sha256  name`, as `sha256sum` prints them  @param {string} source */
function checkJars(directory, list, source) {
  const expected = new Map(
    list
      .trim()
      .split('\n')
      .map((line) => /** @type {[string, string]} */ (line.split(/\s+/).reverse())),
  );
  for (const name of readdirSync(directory)) {
    const found = sha256OfFile(join(directory, name));
    if (expected.get(name) !== found) {
      throw new SetupError(
        `The jar ${name} has SHA-256 ${found}, but ${source} says ${expected.get(name) ?? 'nothing of it'}.`,
        70,
      );
    }
    expected.delete(name);
  }
  if (expected.size > 0) throw new SetupError(`Maven did not bring ${[...expected.keys()].join(', ')}.`, 70);
}
