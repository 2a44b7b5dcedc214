/** The kinds of tests, which are Vitest's projects of the same names, and what each needs to run. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from './process.mjs';
import { ROOT } from './setup.mjs';

/** @type {Record<string, { kafka?: boolean, python?: boolean, java?: boolean, registry?: boolean }>} */
export const KINDS = {
  unit: {},
  contract: {},
  property: {},
  fault: { kafka: true },
  integration: { kafka: true, registry: true },
  interop: { kafka: true, python: true, java: true },
  e2e: { kafka: true },
};

/**
 * Splits the arguments of `npm test`: names of kinds, then anything for Vitest (file filters, options).
 * @param {string[]} args
 * @returns {{ kinds: string[], rest: string[] }} all kinds that have test files, where none is named
 */
export function chooseKinds(args) {
  const split = args.findIndex((arg) => KINDS[arg] === undefined);
  const named = split < 0 ? args : args.slice(0, split);
  const rest = split < 0 ? [] : args.slice(split);
  const unknown = rest.find((arg) => /^[a-z0-9]+$/.test(arg) && rest.indexOf(arg) === 0);
  if (unknown !== undefined) {
    throw new SetupError(
      `There is no kind of test called ${unknown}. Known: ${Object.keys(KINDS).join(', ')}.`,
      64,
    );
  }
  if (named.length === 0) return { kinds: Object.keys(KINDS).filter(hasTests), rest };
  const empty = named.find((kind) => !hasTests(kind));
  if (empty !== undefined) throw new SetupError(`There is no test in test/${empty}.`, 64);
  return { kinds: named, rest };
}

/** @param {string} kind */
function hasTests(kind) {
  return containsTest(join(ROOT, 'test', kind));
}

/** @param {string} directory @returns {boolean} */
function containsTest(directory) {
  if (!existsSync(directory)) return false;
  return readdirSync(directory, { withFileTypes: true }).some((entry) =>
    entry.isDirectory() ? containsTest(join(directory, entry.name)) : entry.name.endsWith('.test.ts'),
  );
}

/**
 * The counts of a run from Vitest's JSON report. A file that could not be loaded, and a run that ended without a report, are failures.
 * @param {any} report  @param {number} exitCode
 */
export function countTests(report, exitCode) {
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const broken = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  let failed = (report?.numFailedTests ?? 0) + broken;
  if (failed === 0 && (exitCode !== 0 || passed === 0)) failed = 1;
  return { passed, failed, skipped };
}

/** The line that ends a run. @param {{ passed: number, failed: number, skipped: number }} counts */
export function countLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
