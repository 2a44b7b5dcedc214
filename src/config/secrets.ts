import { exec } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Secret } from '../core/secret.ts';

const MAX_SECRET_BYTES = 64 * 1024;
const EXEC_TIMEOUT_MS = 15_000;

export interface SecretContext {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

export function isSecretReference(text: string): boolean {
  return /^(env|file|exec):/.test(text);
}

/**
 * The secret that `env:NAME`, `file:/path` or `exec:command` refers to. One newline at the end of a file or of what a
 * command prints is not part of it. A failure is told in words that hold nothing of what was read.
 */
export async function resolveSecret(
  reference: string,
  context: SecretContext,
): Promise<Secret | { failed: string }> {
  const colon = reference.indexOf(':');
  const what = reference.slice(colon + 1).trim();
  if (what === '') return { failed: `nothing stands behind ${reference.slice(0, colon + 1)}` };
  try {
    switch (reference.slice(0, colon)) {
      case 'env':
        return nonEmpty(
          Object.hasOwn(context.env, what) ? context.env[what] : undefined,
          `the variable ${what} is not set`,
        );
      case 'file':
        return nonEmpty(await fileText(resolve(context.cwd, what)), `the file ${what} is empty`);
      default:
        return nonEmpty(await commandOutput(what, context), 'the command printed nothing');
    }
  } catch (e) {
    return {
      failed:
        e instanceof SecretFailure
          ? e.message
          : `${what.split(/\s/)[0]} could not be read (${(e as { code?: string }).code ?? 'failed'})`,
    };
  }
}

class SecretFailure extends Error {}

function nonEmpty(text: string | undefined, otherwise: string): Secret | { failed: string } {
  const value = text?.replace(/\r?\n$/, '');
  return value === undefined || value === '' ? { failed: otherwise } : new Secret(value);
}

async function fileText(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_SECRET_BYTES)
    throw new SecretFailure(`the file ${path} has ${size} bytes, a secret has at most ${MAX_SECRET_BYTES}`);
  return readFile(path, 'utf8');
}

function commandOutput(command: string, context: SecretContext): Promise<string> {
  return new Promise((done, fail) => {
    const options = {
      cwd: context.cwd,
      env: context.env as NodeJS.ProcessEnv,
      timeout: EXEC_TIMEOUT_MS,
      maxBuffer: MAX_SECRET_BYTES,
    };
    const child = exec(command, options, (error, stdout) => {
      if (error === null) return done(stdout);
      const reason =
        error.killed === true
          ? `did not end within ${EXEC_TIMEOUT_MS / 1000} s, or printed too much`
          : `failed with ${error.code ?? error.signal}`;
      // What it printed may hold the secret, so it is not repeated.
      fail(new SecretFailure(`the command ${reason}`));
    });
    child.stdin?.end();
  });
}
