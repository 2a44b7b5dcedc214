import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

const PIPELINE = `name: p
checkpointLocation: ./cp
catalog: { type: sqlite, uri: ./c.db, warehouse: ./w }
source:
  kafka.bootstrap.servers: 127.0.0.1:9
  subscribe: a
  kafka.request.deadline: 1 second
`;

describe('a pipeline file of another directory', () => {
  let root: string;
  let home: string;
  let away: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-directories-'));
    home = join(root, 'home');
    away = join(root, 'away');
    for (const directory of [home, away]) mkdirSync(directory);
    writeFileSync(join(home, 'sluice.yaml'), PIPELINE);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const ranIn = (directory: string): void => {
    mkdirSync(join(directory, 'cp'));
    writeFileSync(join(directory, 'cp', 'metadata'), '{"id":"0f2b9a6e-98a5-4d3c-9a4e-3d1c7f4b2a10"}');
  };
  const file = (): string => join(home, 'sluice.yaml');

  it('that was run in its own is refused where it would begin anew, by every command', async () => {
    ranIn(home);
    for (const command of ['validate', 'status', 'run', 'explain', 'verify']) {
      const { code, stdout, stderr } = await runCli([command, '-c', file()], { cwd: away });
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
      expect(stderr).toContain(`${file()}:2:21 CONTRADICTION checkpointLocation: "./cp" means ${away}/cp`);
      expect(stderr).toContain(`there is one in ${home}/cp, beside the file`);
    }
    for (const cwd of [home, away]) {
      const told = await runCli(['validate', '-c', file(), '--set', `checkpointLocation=${home}/cp`], {
        cwd,
      });
      expect(told.code).toBe(0);
    }
    expect((await runCli(['validate', '-c', file()], { cwd: home })).code).toBe(0);
  });

  it('goes on where it was run before, whatever is beside the file', async () => {
    ranIn(home);
    ranIn(away);
    expect(await runCli(['validate', '-c', file()], { cwd: away })).toMatchObject({ code: 0, stderr: '' });
  });

  it('that begins in the working directory says so when it is run', async () => {
    const warning = `warning the relative paths of ${file()} mean the working directory ${away}: a new checkpoint begins at ${away}/cp.`;
    expect((await runCli(['validate', '-c', file()], { cwd: away })).stderr).toBe('');
    const { code, stderr } = await runCli(['run', '-c', file(), '--once'], { cwd: away });
    expect(code).toBe(69);
    expect(stderr).toContain(warning);
    // The same directory by another name, and paths that are whole.
    const link = join(root, 'link');
    symlinkSync(home, link);
    const linked = await runCli(['run', '-c', join(link, 'sluice.yaml'), '--once'], { cwd: home });
    expect(linked.stderr).not.toContain('warning');
    rmSync(join(away, 'cp'), { recursive: true });
    const whole = ['--set', `checkpointLocation=${home}/other`];
    expect((await runCli(['run', '-c', file(), '--once', ...whole], { cwd: away })).stderr).not.toContain(
      'warning',
    );
  });
});
