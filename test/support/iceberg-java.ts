/** Iceberg's Java library as a foreign reader and writer, run from pinned jars. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, sha256OfFile } from '../../scripts/lib/cache.mjs';
import { run, which } from '../../scripts/lib/process.mjs';

const PINS = fileURLToPath(new URL('../../services/iceberg-java/', import.meta.url));
const SOURCE = fileURLToPath(new URL('./java/IcebergJava.java', import.meta.url));

export interface JavaTable {
  formatVersion: number;
  properties: Record<string, string>;
  snapshots: { id: string; sequenceNumber: number; operation: string; summary: Record<string, string> }[];
  files: {
    path: string;
    partitionPath: string;
    records: number;
    sequenceNumber: number;
    firstRowId: number | null;
  }[];
  /** The first column of each row, as Java prints it. */
  rows: string[];
}

/** Why Java cannot be used here, or undefined where it can. */
export async function javaMissing(): Promise<string | undefined> {
  const java = which('java');
  if (java === undefined) return 'there is no `java`';
  const { stderr } = await run(java, ['-version']);
  const version = /version "(\d+)/.exec(stderr)?.[1];
  if (Number(version) < 17) return `java is version ${version}, 17 is needed`;
  return which('mvn') === undefined ? 'there is no `mvn` to fetch the jars' : undefined;
}

async function jars(): Promise<string> {
  const pom = join(PINS, 'pom.xml');
  const list = readFileSync(join(PINS, 'jars.sha256'), 'utf8');
  return cached('iceberg-java', [readFileSync(pom), list], async (directory) => {
    const { code, stdout, stderr } = await run('mvn', [
      '-q',
      '-B',
      '-f',
      pom,
      'dependency:copy-dependencies',
      `-DoutputDirectory=${directory}`,
    ]);
    if (code !== 0)
      throw new Error(`Maven could not fetch Iceberg's jars: ${(stdout + stderr).slice(-2000)}`);
    const found = readdirSync(directory).map((name) => `${sha256OfFile(join(directory, name))}  ${name}`);
    const expected = list.trim().split('\n');
    const wrong = found.filter((line) => !expected.includes(line));
    if (wrong.length > 0 || found.length !== expected.length)
      throw new Error(`the jars are not those of services/iceberg-java/jars.sha256: ${wrong.join(', ')}`);
  });
}

/** Runs test/support/java/IcebergJava.java; see there for the arguments. */
export async function runIcebergJava(args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run('java', ['-cp', join(await jars(), '*'), SOURCE, ...args]);
  if (code !== 0) throw new Error(`Java failed: ${stderr.slice(-3000)}`);
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}
