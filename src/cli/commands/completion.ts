import { Argument, Command } from 'commander';
import { COMMANDS } from '../command-table.ts';
import type { CliContext } from '../context.ts';

export function command(context: CliContext): Command {
  return new Command()
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  source <(sluice completion bash)
  sluice completion zsh > "\${fpath[1]}/_sluice"
  sluice completion fish > ~/.config/fish/completions/sluice.fish`,
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      context.stdout.write(SCRIPTS[shell](await describeCommands(context)));
    });
}

interface Described {
  name: string;
  summary: string;
  /** Long options and names of sub-commands. */
  words: string[];
}

async function describeCommands(context: CliContext): Promise<Described[]> {
  return Promise.all(
    COMMANDS.map(async ({ name, summary, load }) => {
      const built = (await load()).command(context);
      const options = [built, ...built.commands].flatMap((c) => c.options.map((option) => option.long ?? ''));
      const words = [...built.commands.map((sub) => sub.name()), ...options, '--output', '--help'];
      return { name, summary, words: [...new Set(words.filter((word) => word !== ''))] };
    }),
  );
}

const names = (commands: Described[]): string => commands.map((c) => c.name).join(' ');

const SCRIPTS = {
  bash: (commands: Described[]) => `# bash completion of sluice
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words
  case $prev in
    -c|--config) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    -o|--output) COMPREPLY=($(compgen -W "text json" -- "$cur")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${commands.map((c) => `    ${c.name}) words="${c.words.join(' ')}" ;;`).join('\n')}
    *) words="${names(commands)} --help --version" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names(commands)} --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _sluice sluice
`,
  zsh: (commands: Described[]) => `#compdef sluice
# zsh completion of sluice
_sluice() {
  local -a commands
  commands=(
${commands.map((c) => `    '${c.name}:${c.summary}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then _describe 'command' commands; return; fi
  case \${words[CURRENT-1]} in
    -c|--config) _files; return ;;
    -o|--output) compadd text json; return ;;
  esac
  case \${words[2]} in
${commands.map((c) => `    ${c.name}) compadd -- ${c.words.join(' ')} ;;`).join('\n')}
  esac
}
if [ "$funcstack[1]" = "_sluice" ]; then _sluice "$@"; else compdef _sluice sluice; fi
`,
  fish: (commands: Described[]) => `# fish completion of sluice
complete -c sluice -n __fish_use_subcommand -f
${commands.map((c) => `complete -c sluice -n __fish_use_subcommand -f -a ${c.name} -d '${c.summary}'`).join('\n')}
${commands
  .flatMap((c) =>
    c.words.map((word) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c sluice -n '__fish_seen_subcommand_from ${c.name}' ${what}`;
    }),
  )
  .join('\n')}
`,
};
