import { Command, CommanderError, Option } from 'commander';
import { SluiceError } from '../errors.ts';
import { COMMANDS } from './command-table.ts';
import type { CliContext } from './context.ts';

/**
 * Builds the command line and runs it. Only the module of the command that is asked for is loaded; of the others the
 * help knows name and summary. Throws USAGE for a command line that is none, and what the command throws.
 */
export async function runProgram(argv: readonly string[], context: CliContext): Promise<void> {
  const program = await buildProgram(argv, context);
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end so too, with 0.
    if (error.exitCode === 0) return;
    const missing = error.code === 'commander.help';
    const message = !missing
      ? error.message
      : argv[0] === 'help'
        ? `help: there is no command ${argv.slice(1).join(' ')}`
        : `${argv.join(' ')}: a sub-command is missing; see sluice ${argv[0]} --help`;
    throw new SluiceError('USAGE', message.replace(/^error: /, '').replace(/\n(?=\()/, ' '));
  }
}

export async function buildProgram(argv: readonly string[], context: CliContext): Promise<Command> {
  const program = new Command('sluice')
    .description('Moves Kafka topics into Apache Iceberg tables, exactly once and with proof.')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show the help of a command')
    .showHelpAfterError(false)
    .addHelpText('after', EXAMPLES);
  const wanted = wantedCommand(argv);
  for (const entry of COMMANDS) {
    if (entry.name !== wanted) {
      program.command(entry.name).description(entry.summary).allowUnknownOption();
      continue;
    }
    const command = (await entry.load()).command(context);
    program.addCommand(withCommonOptions(command.name(entry.name).summary(entry.summary)));
  }
  return configured(program, context);
}

/** The first word that is no option, after a leading `help`. */
export function wantedCommand(argv: readonly string[]): string | undefined {
  const words = argv.filter((arg) => !arg.startsWith('-'));
  return words[0] === 'help' ? words[1] : words[0];
}

function withCommonOptions(command: Command): Command {
  if (command.commands.length > 0) {
    for (const sub of command.commands) withCommonOptions(sub);
    return command;
  }
  return command
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'))
    .addOption(new Option('--debug', 'print the stack of an error'));
}

/** Output and exits go through the context, for the program and every command below. */
function configured(program: Command, context: CliContext): Command {
  const configure = (command: Command): void => {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.stdout.write(text),
      // The message comes once more as the error that is thrown.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(context.stdout.columns() ?? 100, 110),
      getOutHasColors: () => false,
    });
    for (const sub of command.commands) configure(sub);
  };
  configure(program);
  return program;
}

const EXAMPLES = `
Examples:
  sluice validate                       check ./sluice.yaml
  sluice explain                        what the next batch would be
  sluice run --available-now            read what is there, then end
  sluice run --set source.maxOffsetsPerTrigger=500000
  sluice status -o json                 offsets and lag, for programs
  sluice verify bronze.ad_clicks        prove that nothing is lost or doubled

Exit codes: 0 done, 3 data loss found, 4 verify found a difference, 64 usage, 65 bad data,
69 something is unreachable, 70 a bug, 75 try again, 78 configuration.`;
