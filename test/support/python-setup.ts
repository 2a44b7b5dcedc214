/** Vitest's global set-up of the projects that call foreign readers: the Python of SLUICE_TEST_PYTHON, or the cached one. */
import type { TestProject } from 'vitest/node';
import { pythonWithPackages } from '../../scripts/lib/python.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    python: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide('python', process.env.SLUICE_TEST_PYTHON || (await pythonWithPackages()));
}
