import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { wantedCommand } from '../../../src/cli/program.ts';
import { runCli } from './run-cli.ts';

describe('the command line', () => {
  it('without words is the help, on stdout', async () => {
    const { code, stdout, stderr } = await runCli([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`^  ${name} .*${summary.slice(0, 20)}`, 'm'));
    expect(stdout).toContain('Examples:');
    expect(stdout).toContain('Exit codes:');
  });

  it.each(COMMANDS.map((c) => c.name))('%s has help with what it does', async (name) => {
    for (const argv of [
      [name, '--help'],
      ['help', name],
    ]) {
      const { code, stdout, stderr } = await runCli(argv);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: sluice ${name}`);
    }
  });

  it.each([
    [['valdiate'], "unknown command 'valdiate'"],
    [['validate', '--bogus'], "unknown option '--bogus'"],
    [['validate', '-o', 'xml'], 'Allowed choices are text, json'],
    [['table'], 'a sub-command is missing; see sluice table --help'],
    [['help', 'nosuch'], 'help: there is no command nosuch'],
    [['valdiate'], "unknown command 'valdiate' (Did you mean validate?)"],
    [['table', 'show', 'clicks'], '"clicks" is no name of a table: expected namespace.name'],
    [['verify', 'bronze.a', 'clicks'], '"clicks" is no name of a table: expected namespace.name'],
    [['quarantine', 'list', 'clicks'], '"clicks" is no name of a table: expected namespace.name'],
    [['quarantine', 'requeue', 'clicks'], '"clicks" is no name of a table: expected namespace.name'],
    [['status', '--timeout', 'soon'], "argument 'soon' is invalid. It is a number with a unit"],
    [['table', 'show'], "missing required argument 'table'"],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
    [['run', '--once', '--available-now'], "option '--once' cannot be used with option '--available-now'"],
    [['schema', 'extra'], 'too many arguments'],
  ])('%j is USAGE, 64', async (argv, message) => {
    const { code, stdout, stderr } = await runCli(argv);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain('error USAGE: ');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
  });

  it('knows the command that is wanted', () => {
    expect(wantedCommand(['-o', 'json', 'run'])).toBe('json');
    expect(wantedCommand(['run', '-c', 'x'])).toBe('run');
    expect(wantedCommand(['help', 'run'])).toBe('run');
    expect(wantedCommand(['--help'])).toBeUndefined();
  });
});

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('%s names every command and its options', async (shell) => {
    const { code, stdout } = await runCli(['completion', shell]);
    expect(code).toBe(0);
    for (const { name } of COMMANDS) expect(stdout).toContain(name);
    expect(stdout).toMatch(/available-now/);
    expect(stdout).toMatch(/files/);
  });

  it('bash completes commands, options and sub-commands', async () => {
    const { stdout } = await runCli(['completion', 'bash']);
    const complete = (...words: string[]): string[] => {
      const script = `${stdout}\nCOMP_WORDS=(${words.map((w) => `'${w}'`).join(' ')})\nCOMP_CWORD=${words.length - 1}\n_sluice\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
      const { status, stdout: out, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      return out.trim().split('\n');
    };
    expect(complete('sluice', 'val')).toEqual(['validate']);
    expect(complete('sluice', 'run', '--ava')).toEqual(['--available-now']);
    expect(complete('sluice', 'table', 'l')).toEqual(['list']);
    expect(complete('sluice', 'status', '-o', 'j')).toEqual(['json']);
  });
});

it('schema prints the JSON Schema', async () => {
  const { code, stdout } = await runCli(['schema']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    title: 'Sluice pipeline',
    required: ['name', 'checkpointLocation', 'catalog', 'source'],
  });
});
