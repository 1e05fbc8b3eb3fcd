import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createLog } from '../telemetry/log.ts';

/** The log of a process: standard output, or a file to append to. */
export function openLog(
  { telemetry }: Snapshot,
  { file, worker }: { readonly file?: string; readonly worker?: number } = {},
): Log {
  return createLog({
    level: telemetry.logLevel,
    ...(file === undefined || file === '' ? {} : { destination: file }),
    ...(worker === undefined ? {} : { base: { worker } }),
  });
}
