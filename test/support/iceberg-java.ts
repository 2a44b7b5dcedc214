/** Iceberg's Java library as a foreign reader and writer, run from pinned jars. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { icebergJava } from '../../scripts/lib/iceberg-java.mjs';
import { run } from '../../scripts/lib/process.mjs';
import { parseJson64 } from '../../src/core/json64.ts';

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
  return (await icebergJava()).missing;
}

/** Runs a program of test/support/java; see there for the arguments. Integers beyond 2^53 come back as bigint. */
export async function runIcebergJava(args: string[], program = 'IcebergJava'): Promise<unknown> {
  const found = await icebergJava();
  if (found.missing !== undefined) throw new Error(found.missing);
  const source = fileURLToPath(new URL(`./java/${program}.java`, import.meta.url));
  const classPath = ['-XX:TieredStopAtLevel=1', '-cp', join(found.jars, '*')];
  const { code, stdout, stderr } = await run(found.java, [...classPath, source, ...args]);
  if (code !== 0) throw new Error(`Java failed: ${stderr.slice(-3000)}`);
  return parseJson64(stdout.trim().split('\n').at(-1)!);
}
