import type { Snapshot } from '../core/snapshot.ts';
import { toError } from '../lib/error/to-error.ts';
import { diagnose } from '../render/doctor/diagnose.ts';
import type { Finding } from '../render/doctor/finding.ts';
import { StartupError } from './startup-error.ts';

/** Asks a running Envoy what it has and says what does not fit. Throws `StartupError` when it does not answer. */
export async function inspectEnvoy(snapshot: Snapshot, admin: string): Promise<readonly Finding[]> {
  const ask = async (path: string): Promise<string> => {
    const response = await fetch(new URL(path, admin), { signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.text();
  };
  try {
    const [configDump, stats, serverInfo] = await Promise.all([
      ask('/config_dump'),
      ask('/stats'),
      ask('/server_info'),
    ]);
    return diagnose({ configDump: JSON.parse(configDump), stats, serverInfo: JSON.parse(serverInfo), snapshot });
  } catch (cause) {
    const why = faultOf(toError(cause));
    throw new StartupError(`Envoy's admin does not answer at ${admin} (${why}): give its address with --admin`, {
      cause,
    });
  }
}

/** `fetch` says why in its cause alone. */
function faultOf({ message, cause }: Error): string {
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}
