#!/usr/bin/env node
import { CommanderError } from 'commander';
import { ConfigError } from '../app/config-error.ts';
import { StartupError } from '../app/startup-error.ts';
import { ApiError } from './api-error.ts';
import { createProgram } from './program.ts';
import { UserError, WordsError } from './user-error.ts';

/**
 * Exit codes: 0 done, 1 it went wrong, 2 the call's words are off, 3 the configuration is not fit to run, 4 the audit log is
 * not what was written; of the admin API also 5 not allowed, 6 in conflict with what is there.
 */
const EXIT = { failed: 1, usage: 2, config: 3 } as const;

// Whoever reads may have read enough (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await createProgram().parseAsync(process.argv);
} catch (reason) {
  process.exitCode = report(reason);
}

function report(reason: unknown): number {
  if (reason instanceof CommanderError) return reason.exitCode === 0 ? 0 : EXIT.usage;
  if (reason instanceof ConfigError) {
    const hint = reason.problems.some(({ isFile }) => isFile === true) ? ': -c names another one' : '';
    process.stderr.write(`${reason.message}${hint}\n`);
    return EXIT.config;
  }
  if (reason instanceof ApiError) {
    process.stderr.write(`tokenlat: the admin API refused: ${reason.message}\n`);
    return reason.exitCode;
  }
  if (reason instanceof StartupError || reason instanceof UserError) {
    process.stderr.write(`tokenlat: ${reason.message}\n`);
    return reason instanceof WordsError ? EXIT.usage : EXIT.failed;
  }
  process.stderr.write(`tokenlat: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}\n`);
  return EXIT.failed;
}
