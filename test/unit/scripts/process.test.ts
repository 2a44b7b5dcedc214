import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { isAlive, run, which } from '../../../scripts/lib/process.mjs';

const MODULE = fileURLToPath(new URL('../../../scripts/lib/process.mjs', import.meta.url));

describe('run', () => {
  it('gives exit code and output, and 127 for a program that is not there', async () => {
    const script = 'process.stdout.write("out"); process.stderr.write("err"); process.exitCode = 3';
    expect(await run(process.execPath, ['-e', script])).toEqual({ code: 3, stdout: 'out', stderr: 'err' });
    expect((await run('no-such-program-of-sluice', [])).code).toBe(127);
    expect((await run(process.execPath, ['-e', 'process.kill(process.pid, "SIGKILL")'])).code).toBe(137);
  });
});

describe('which', () => {
  it('finds programs in PATH, not directories', () => {
    expect(which('sh', { PATH: '/nowhere:/bin' })).toBe('/bin/sh');
    expect(which('bin', { PATH: '/usr' })).toBeUndefined();
    expect(which('sh', {})).toBeUndefined();
  });
});

/** A process that starts a long child as the scripts do, and says its id. The child keeps our end of stdout open while it lives. */
function parentOfChild(body: string) {
  const script = `
    const { spawn } = await import('node:child_process');
    const { atExit, guardProcess, stopChild } = await import(${JSON.stringify(MODULE)});
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("ready", process.pid)'], {
      stdio: ['ignore', 'inherit', 'ignore'], detached: true,
    });
    ${body}
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('what was started', () => {
  it('is stopped when the process that started it is killed', async () => {
    const parent = parentOfChild('guardProcess(child.pid);');
    const [ready] = await once(parent.stdout.setEncoding('utf8'), 'data');
    const pid = Number(ready.split(' ')[1]);
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    // Ends only when the child has let go of the pipe, which is just before the system counts it as gone.
    await text(parent.stdout);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  });

  it('is stopped on SIGTERM before the process itself ends, with 128 plus the signal', async () => {
    const parent = parentOfChild('atExit(() => stopChild(child));');
    const [ready] = await once(parent.stdout.setEncoding('utf8'), 'data');
    parent.kill('SIGTERM');
    const [code] = await once(parent, 'exit');
    expect(code).toBe(143);
    expect(isAlive(Number(ready.split(' ')[1]))).toBe(false);
  });
});
