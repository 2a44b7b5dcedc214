import type { Command } from 'commander';
import type { CliContext } from './context.ts';

/** A command by name; its module is loaded only when it is the one that runs. */
export interface CommandEntry {
  name: string;
  summary: string;
  load(): Promise<{ command(context: CliContext): Command }>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    summary: 'Look at a topic and print a pipeline file for it',
    load: () => import('./commands/init.ts'),
  },
  { name: 'run', summary: 'Run a pipeline', load: () => import('./commands/run.ts') },
  {
    name: 'validate',
    summary: 'Check a pipeline file, and with --connect what it names',
    load: () => import('./commands/validate.ts'),
  },
  {
    name: 'explain',
    summary: 'Plan the next batch and write nothing',
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'status',
    summary: 'Show how far a pipeline is, and its lag',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'verify',
    summary: 'Prove that each offset is in its table exactly once',
    load: () => import('./commands/verify.ts'),
  },
  {
    name: 'quarantine',
    summary: 'Look at what was set aside, and bring it back once it is rows',
    load: () => import('./commands/quarantine.ts'),
  },
  { name: 'table', summary: 'Look at the tables of a catalog', load: () => import('./commands/table.ts') },
  {
    name: 'checkpoint',
    summary: 'Look into a checkpoint, check it, move it after a loss',
    load: () => import('./commands/checkpoint.ts'),
  },
  {
    name: 'demo',
    summary: 'Produce ad events, load them into Iceberg tables, prove it',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'schema',
    summary: 'Print the JSON Schema of pipeline files',
    load: () => import('./commands/schema.ts'),
  },
  {
    name: 'completion',
    summary: 'Print a completion script for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
];
