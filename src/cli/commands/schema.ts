import { Command } from 'commander';
import type { CliContext } from '../context.ts';

export function command(context: CliContext): Command {
  return new Command()
    .description('Print the JSON Schema of pipeline files, for editors and checkers.')
    .addHelpText(
      'after',
      '\nName it in the first line of a file:\n  # yaml-language-server: $schema=./node_modules/sluice/schema.json',
    )
    .action(async () => {
      const { pipelineJsonSchema } = await import('../../config/schema.ts');
      context.stdout.write(`${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`);
    });
}
