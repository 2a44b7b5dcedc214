#!/usr/bin/env node
/**
 * `npm test [KIND ...] [-- VITEST OPTIONS]`: installs, starts what the chosen kinds of tests need, runs them, stops what it started.
 * The last line is `N passed, N failed`; the exit code is Vitest's.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { icebergJava } from './lib/iceberg-java.mjs';
import { startBroker } from './lib/kafka.mjs';
import { atExit, runMain } from './lib/process.mjs';
import { pythonWithPackages } from './lib/python.mjs';
import { registryRuntime } from './lib/registry.mjs';
import { runHere, setup } from './lib/setup.mjs';
import { chooseKinds, countLine, countTests, KINDS } from './lib/test-kinds.mjs';

await runMain(async () => {
  const { kinds, rest } = chooseKinds(process.argv.slice(2));
  const { node, env } = await setup();
  // Everything that this run leaves behind lies in one directory, also what a killed test could not remove.
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const removeScratch = () => rmSync(scratch, { recursive: true, force: true });
  atExit(removeScratch);
  const testEnv = { ...env, TMPDIR: scratch };
  if (kinds.some((kind) => KINDS[kind].python)) testEnv.SLUICE_TEST_PYTHON ||= await pythonWithPackages();
  if (kinds.some((kind) => KINDS[kind].java)) await fetchIcebergJava();
  if (kinds.some((kind) => KINDS[kind].registry)) await fetchRegistry();
  const broker = await kafkaFor(kinds, testEnv);
  try {
    return await runVitest(node, kinds, rest, testEnv, join(scratch, 'report.json'));
  } finally {
    await broker?.stop();
    removeScratch();
  }
});

/** Into the cache before the tests, whose time is bounded; they say themselves what they skip without it. */
async function fetchIcebergJava() {
  const { missing } = await icebergJava();
  if (missing !== undefined)
    process.stderr.write(`Tests of Iceberg's Java library are skipped: ${missing}\n`);
}

async function fetchRegistry() {
  const runtime = await registryRuntime();
  if ('missing' in runtime)
    process.stderr.write(`Tests with a real Schema Registry are skipped: ${runtime.missing}\n`);
}

/** The shared broker of the run: the one that the environment names, else one of our own. */
async function kafkaFor(kinds, env) {
  if (!kinds.some((kind) => KINDS[kind].kafka)) return undefined;
  const given = env.SLUICE_TEST_KAFKA || env.KAFKA_BOOTSTRAP_SERVERS;
  if (given) {
    process.stderr.write(`Using the Kafka at ${given}; topics of the tests begin with sluice-test-\n`);
    env.SLUICE_TEST_KAFKA = given;
    return undefined;
  }
  const broker = await startBroker();
  process.stderr.write(`Kafka for the tests: ${broker.bootstrap}\n`);
  env.SLUICE_TEST_KAFKA = broker.bootstrap;
  return broker;
}

async function runVitest(node, kinds, rest, env, reportFile) {
  const projects = kinds.flatMap((kind) => ['--project', kind]);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const code = await runHere(
    node,
    ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...reporters, ...rest],
    env,
  );
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined;
  const counts = countTests(report, code);
  process.stdout.write(`${countLine(counts)}\n`);
  return code === 0 && counts.failed > 0 ? 1 : code;
}
