import type { Log } from '../core/ports/telemetry.ts';
import { guardProcess } from '../app/guard-process.ts';
import { toError } from '../lib/error/to-error.ts';

/** Starts something and keeps it until a signal, a fatal loss or an uncaught fault; then stops it and ends the process. */
export async function untilStopped(
  log: Log,
  start: (onFatal: (reason: string) => void) => Promise<() => Promise<void>>,
): Promise<void> {
  let stop: (() => Promise<void>) | null = null;
  let leaving = false;
  const leave = async (code: number): Promise<void> => {
    if (leaving) return;
    leaving = true;
    try {
      await stop?.();
    } catch (reason) {
      log.error('could not stop cleanly', { error: toError(reason) });
      process.exit(1);
    }
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // A second one means "at once".
      if (leaving) process.exit(1);
      void leave(0);
    });
  }
  guardProcess(log, leave);
  stop = await start((reason) => {
    process.stderr.write(`tokenlat: ${reason}\n`);
    void leave(1);
  });
}
