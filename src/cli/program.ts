import { Command } from 'commander';
import { auditCommand } from './commands/audit.ts';
import { budgetCommand } from './commands/budget.ts';
import { classifierCommand } from './commands/classifier.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { costCommand } from './commands/cost.ts';
import { deploymentsCommand } from './commands/deployments.ts';
import { doctorCommand } from './commands/doctor.ts';
import { envoyCommand } from './commands/envoy.ts';
import { keysCommand } from './commands/keys.ts';
import { linesCommand } from './commands/lines.ts';
import { liveCommand } from './commands/live.ts';
import { pickerCommand } from './commands/picker.ts';
import { quotaCommand } from './commands/quota.ts';
import { routeCommand } from './commands/route.ts';
import { serveCommand } from './commands/serve.ts';
import { tenantsCommand } from './commands/tenants.ts';
import { tokenCommand } from './commands/token.ts';
import { topCommand } from './commands/top.ts';
import { traceCommand } from './commands/trace.ts';
import { upCommand } from './commands/up.ts';
import { version } from '../app/version.ts';

/** All commands of the CLI. */
export function createProgram(): Command {
  const program = new Command('tokenlat')
    .description('LLM gateway for the Envoy you already run')
    .version(version(), '-V, --version')
    .showHelpAfterError('(tokenlat --help lists the commands)')
    .exitOverride();

  for (const command of [
    upCommand(),
    serveCommand(),
    configCommand(),
    envoyCommand(),
    doctorCommand(),
    tokenCommand(),
    traceCommand(),
    auditCommand(),
    keysCommand(),
    tenantsCommand(),
    linesCommand(),
    quotaCommand(),
    budgetCommand(),
    costCommand(),
    topCommand(),
    liveCommand(),
    routeCommand(),
    classifierCommand(),
    deploymentsCommand(),
    pickerCommand(),
    completionCommand(program),
  ]) {
    program.addCommand(command);
  }
  inheritSettings(program);
  return program;
}

/** `addCommand` hands nothing down: without this, commander would end the process itself on a subcommand's wrong words. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}
