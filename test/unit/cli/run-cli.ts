import type { CliContext } from '../../../src/cli/context.ts';
import { reportError } from '../../../src/cli/error-output.ts';
import { runProgram } from '../../../src/cli/program.ts';

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs one command line in this process, as `main` does, with texts for streams. */
export async function runCli(
  argv: string[],
  setup: { env?: Record<string, string>; cwd?: string } = {},
): Promise<CliResult> {
  const texts = { stdout: '', stderr: '' };
  const out = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      texts[name] += text;
    },
    terminal: false,
    columns: () => undefined,
  });
  const context: CliContext = {
    env: setup.env ?? {},
    cwd: setup.cwd ?? '/',
    version: '1.2.3',
    stdout: out('stdout'),
    writeBytes: (bytes) => {
      texts.stdout += Buffer.from(bytes).toString('latin1');
    },
    stderr: out('stderr'),
    exitCode: 0,
  };
  try {
    await runProgram(argv, context);
    return { code: context.exitCode, ...texts };
  } catch (error) {
    return { code: reportError(error, argv, context.stderr), ...texts };
  }
}
