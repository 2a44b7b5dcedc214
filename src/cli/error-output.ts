import { stringifyJson64 } from '../core/json64.ts';
import { shellWord } from '../engine/reset/reset-request.ts';
import { ERROR_CODES, isSluiceError, messageOf, SluiceError } from '../errors.ts';
import type { Out } from './context.ts';

/**
 * Prints an error on stderr: code and message, what to do, where to read more. A stack only with `--debug`, or where the
 * error is a bug of ours. `context.hint` is what the command adds to the remedy. With `-o json` one JSON line instead.
 * Returns the exit code.
 */
export function reportError(thrown: unknown, argv: readonly string[], stderr: Out): number {
  const error = isSluiceError(thrown) ? thrown : unexpected(thrown);
  const row = ERROR_CODES[error.code];
  const docs = `docs/errors.md#${error.code.toLowerCase()}`;
  if (wantsJson(argv)) {
    const { code, retryable, outcome, context } = error;
    const message = error.message.slice(code.length + 2);
    const plain = {
      code,
      message,
      remedy: row.remedy,
      exitCode: row.exit,
      retryable,
      outcome,
      context,
      docs,
    };
    stderr.write(`${stringifyJson64({ error: plain })}\n`);
    return row.exit;
  }
  const hint = typeof error.context.hint === 'string' ? `  ${error.context.hint}\n` : '';
  stderr.write(`error ${forSameFile(error.message, argv)}\n  ${row.remedy}\n${hint}  See ${docs}\n`);
  if (argv.includes('--debug') || error.code === 'INTERNAL') stderr.write(`${stackOf(thrown)}\n`);
  return row.exit;
}

function unexpected(thrown: unknown): SluiceError {
  return new SluiceError('INTERNAL', messageOf(thrown), { cause: thrown });
}

function stackOf(thrown: unknown): string {
  const stacks: string[] = [];
  for (let e: unknown = thrown, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    stacks.push(`${depth === 0 ? '' : 'caused by '}${e.stack ?? e.message}`);
  }
  return stacks.length === 0 ? String(thrown) : stacks.join('\n');
}

/** The commands that a message names, for the pipeline file that was given: copied as they stand, they work. */
function forSameFile(message: string, argv: readonly string[]): string {
  const file = givenFile(argv);
  if (file === undefined) return message;
  const words = shellWord(file);
  return message.replace(/`(sluice [^`]*)`/g, (whole, command: string) =>
    / -c | --config /.test(command) ? whole : `\`${command} -c ${words}\``,
  );
}

function givenFile(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((arg) => arg === '-c' || arg === '--config');
  if (at >= 0) return argv[at + 1];
  return argv.find((arg) => arg.startsWith('--config='))?.slice('--config='.length);
}

/** Was `-o json` asked for? Looked up in the text, because the command line itself may be what is wrong. */
export function wantsJson(argv: readonly string[]): boolean {
  return argv.some((arg, i) => {
    if (arg === '-ojson' || arg === '-o=json' || arg === '--output=json') return true;
    return (arg === '-o' || arg === '--output') && argv[i + 1] === 'json';
  });
}
