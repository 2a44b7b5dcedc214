import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pinnedVersions } from '../../../bench/spark/versions.ts';
import { sparkRuntime } from '../../../scripts/lib/spark.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-spark-runtime-'));
  mkdirSync(join(root, 'bin'));
  vi.stubEnv('PATH', join(root, 'bin'));
  vi.stubEnv('JAVA_HOME', undefined);
  vi.stubEnv('SLUICE_CACHE_DIR', join(root, 'cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** Puts a shell script into PATH. */
function program(name: string, body: string): void {
  const path = join(root, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}
const failure = async () =>
  sparkRuntime({ log: () => {} }).then(
    () => 'nothing is missing',
    (error) => `${error.exitCode} ${error.message}`,
  );

describe('sparkRuntime', () => {
  it('says in one line what is missing', async () => {
    expect(await failure()).toBe(
      '69 The race against Spark needs Java 17 or newer (`java`), which is not installed.',
    );
    program('java', `echo 'openjdk version "17.0.15" 2025-01-01' >&2`);
    expect(await failure()).toBe('69 The race against Spark needs Maven (`mvn`), which is not installed.');
    program('mvn', 'echo "[ERROR] Unknown host"; exit 1');
    expect(await failure()).toMatch(
      /^69 Maven could not fetch .*is there a network\?\): \[ERROR\] Unknown host$/,
    );
  });

  it('has the versions of the result from the pinned lists', () => {
    expect(pinnedVersions()).toEqual({
      pyspark: expect.stringMatching(/^4\.1\.\d+$/),
      icebergRuntime: expect.stringMatching(/^iceberg-spark-runtime-4\.1_2\.13-/),
      avro: expect.stringMatching(/^spark-avro_2\.13-4\.1\./),
      kafkaSource: expect.stringMatching(/^spark-sql-kafka-0-10_2\.13-4\.1\./),
    });
  });
});
