#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { ConfigError } from '../app/load.ts';
import { StartupError } from '../app/startup-error.ts';
import { ApiError } from './api-error.ts';
import { auditCommand } from './commands/audit.ts';
import { budgetCommand } from './commands/budget.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { costCommand } from './commands/cost.ts';
import { doctorCommand } from './commands/doctor.ts';
import { envoyCommand } from './commands/envoy.ts';
import { keysCommand } from './commands/keys.ts';
import { linesCommand } from './commands/lines.ts';
import { quotaCommand } from './commands/quota.ts';
import { serveCommand } from './commands/serve.ts';
import { tenantsCommand } from './commands/tenants.ts';
import { tokenCommand } from './commands/token.ts';
import { topCommand } from './commands/top.ts';
import { traceCommand } from './commands/trace.ts';
import { upCommand } from './commands/up.ts';
import { UserError } from './user-error.ts';
import { version } from './version.ts';

/**
 * Exit codes: 0 done, 1 it went wrong, 2 the call's words are off, 3 the configuration is not fit to run, 4 the audit log is
 * not what was written; of the admin API also 5 not allowed, 6 in conflict with what is there.
 */
const EXIT = { failed: 1, usage: 2, config: 3 } as const;

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
  completionCommand(program),
]) {
  program.addCommand(command);
}
inheritSettings(program);

try {
  await program.parseAsync(process.argv);
} catch (reason) {
  process.exitCode = report(reason);
}

function report(reason: unknown): number {
  if (reason instanceof CommanderError) return reason.exitCode === 0 ? 0 : EXIT.usage;
  if (reason instanceof ConfigError) {
    process.stderr.write(`${reason.message}\n`);
    return EXIT.config;
  }
  if (reason instanceof ApiError) {
    process.stderr.write(`tokenlat: the admin API refused: ${reason.message}\n`);
    return reason.exitCode;
  }
  if (reason instanceof StartupError || reason instanceof UserError) {
    process.stderr.write(`tokenlat: ${reason.message}\n`);
    return EXIT.failed;
  }
  process.stderr.write(`tokenlat: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}\n`);
  return EXIT.failed;
}

/** `addCommand` hands nothing down: without this, commander would end the process itself on a subcommand's wrong words. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}
