import { defineConfig } from 'vitest/config';

// One project per kind of test, so that each can be run by its name: `npm test unit`.
const kinds = ['unit', 'contract', 'fault', 'property', 'interop', 'integration', 'e2e'] as const;
const timeouts: Record<string, number> = { interop: 240_000, integration: 240_000, e2e: 300_000, fault: 240_000, property: 120_000 };

export default defineConfig({
  test: {
    projects: kinds.map((name) => ({
      extends: true,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        pool: 'forks' as const,
        testTimeout: timeouts[name] ?? 30_000,
        hookTimeout: 240_000,
      },
    })),
    maxWorkers: 2,
  },
});
