import { Argument, Command } from 'commander';
import { completionScript, type Shell } from '../completion-script.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

/** `tokenlat completion bash|zsh`: a script for the shell, made of the commands below `root`. */
export function completionCommand(root: Command, terminal: Terminal = processTerminal): Command {
  return new Command('completion')
    .description('print a completion script: source <(tokenlat completion bash)')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh']))
    .action((shell: Shell) => terminal.out(completionScript(root, shell)));
}
