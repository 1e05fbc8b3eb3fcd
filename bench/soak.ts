import { setTimeout as sleep } from 'node:timers/promises';
import { LoadGenerator } from './load/load-generator.ts';
import { chatPayload } from './payload.ts';
import { processFigures } from './process-figures.ts';
import type { SoakRow } from './report/results.ts';
import type { PeerName, Setup, SetupName } from './setups/setup.ts';
import { startSetups } from './setups/start-setups.ts';

/** Requests a second on each setup at the same time: little enough for the slowest peer. */
const RATE = 25;
const FIRST_MS = 30_000;
const CONNECTIONS = 64;

export interface SoakOptions {
  readonly dir: string;
  readonly minutes: number;
  readonly peers: readonly PeerName[];
  readonly say: (line: string) => void;
}

/** Puts a steady load on all gateways at once and tells how their memory grew from the first half minute to the end. */
export async function soak({ dir, minutes, peers, say }: SoakOptions): Promise<readonly SoakRow[]> {
  const payload = chatPayload({ name: 'soak', promptBytes: 2048 });
  const names = new Set<SetupName>(['echo', 'tokenlat', 'tokenlat-minimal', ...peers]);
  say(`soak for ${minutes} minutes: ${[...names].join(', ')}`);
  const setups = await startSetups({ dir, stage: 'soak', names, payloads: [payload], nodeArgs: [] });
  const rows = await Promise.all(
    setups.all.map(async (setup) => {
      const load = await LoadGenerator.start(dir);
      const work = { payload, connections: CONNECTIONS, rate: RATE };
      const run = load.run(setup, work, minutes * 60_000);
      await sleep(FIRST_MS);
      const first = gatewayMb(setup);
      const { failed } = await run;
      const row = { setup: setup.name, minutes, rate: RATE, failed, rss_mb: { first, last: gatewayMb(setup) } };
      await load.stop();
      return row;
    }),
  );
  await setups.stop();
  return rows;
}

function gatewayMb({ processes }: Setup): number {
  const pid = processes.ext_proc ?? processes.gateway;
  return pid === undefined ? 0 : Math.round(processFigures(pid).rssMb);
}
