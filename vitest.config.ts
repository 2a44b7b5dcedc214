import { defineConfig } from 'vitest/config';

// One project per kind of test, so that each can be run by its name: `npm test unit`.
const kinds = ['unit', 'contract', 'fault', 'property', 'interop', 'integration', 'e2e'] as const;
const timeouts: Record<string, number> = {
  interop: 240_000,
  integration: 240_000,
  e2e: 300_000,
  fault: 240_000,
  property: 120_000,
};

// What a kind needs is started once for the run; `npm test` starts it before and hands it over by environment variables.
const kafka = './test/support/kafka-setup.ts';
const python = './test/support/python-setup.ts';
const needs: Record<string, string[]> = {
  fault: [kafka],
  integration: [kafka],
  e2e: [kafka],
  interop: [kafka, python],
};

export default defineConfig({
  test: {
    projects: kinds.map((name) => ({
      extends: true,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        globalSetup: needs[name] ?? [],
        pool: 'forks' as const,
        testTimeout: timeouts[name] ?? 30_000,
        hookTimeout: 240_000,
      },
    })),
    maxWorkers: 2,
  },
});
