import type { Log } from '../core/ports/telemetry.ts';
import { toError } from '../lib/error/to-error.ts';

/**
 * A fault that nobody caught: the process says so, settles what it can and ends with code 1. Going on would mean to serve
 * with state that nobody understands.
 */
export function guardProcess(log: Log, leave: (code: number) => Promise<void>): void {
  let failing = false;
  const fail = (kind: string) => (reason: unknown) => {
    log.error(kind, { error: toError(reason) });
    if (failing) return;
    failing = true;
    void leave(1);
  };
  process.on('uncaughtException', fail('uncaught exception'));
  process.on('unhandledRejection', fail('unhandled rejection'));
}
