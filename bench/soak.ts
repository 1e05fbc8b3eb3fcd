import { setTimeout as sleep } from 'node:timers/promises';
import { SOAK_START_SECONDS } from './estimate.ts';
import { LoadGenerator } from './load/load-generator.ts';
import { chatPayload } from './payload.ts';
import { processFigures } from './process-figures.ts';
import type { Progress } from './progress.ts';
import { flatness } from './report/flatness.ts';
import type { SoakRow } from './report/results.ts';
import type { PeerName, Setup, SetupName } from './setups/setup.ts';
import { startSetups } from './setups/start-setups.ts';

/** Requests a second on each setup at the same time: little enough for the slowest peer. */
const RATE = 50;
/** Before that, one setup after the other is kept busy: a heap that has not found its size yet grows whatever it holds. */
const WARM_UP_MS = 8000;
const WARM_UP_CONNECTIONS = 16;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 1000;
const CONNECTIONS = 64;

export interface SoakOptions {
  readonly dir: string;
  readonly minutes: number;
  /** Which of the gateways; null for all. */
  readonly setups: readonly string[] | null;
  readonly peers: readonly PeerName[];
  readonly say: (line: string) => void;
  readonly progress: Progress;
}

/** Puts a steady load on all gateways at once and tells how their memory went over the time. */
export async function soak({
  dir,
  minutes,
  setups: wanted,
  peers,
  say,
  progress,
}: SoakOptions): Promise<readonly SoakRow[]> {
  const payload = chatPayload({ name: 'soak', promptBytes: 2048 });
  const all: readonly SetupName[] = ['echo', 'tokenlat', 'tokenlat-minimal', ...peers];
  const names = new Set(all.filter((name) => wanted === null || wanted.includes(name)));
  say(`soak for ${minutes} minutes: ${[...names].join(', ')}`);
  const setups = await startSetups({ dir, stage: 'soak', names, payloads: [payload], nodeArgs: [] });
  const loads = new Map<Setup, LoadGenerator>();
  for (const setup of setups.all) {
    const load = await LoadGenerator.start(dir);
    loads.set(setup, load);
    await setup.prepare(payload.name);
    await load.run(setup, { payload, connections: WARM_UP_CONNECTIONS, rate: null }, WARM_UP_MS);
  }
  progress.done(SOAK_START_SECONDS * 1000);
  const ticks = setInterval(() => {
    progress.done(MINUTE_MS);
    say('soak');
  }, MINUTE_MS);
  const rows = await Promise.all(
    [...loads].map(async ([setup, load]): Promise<SoakRow> => {
      const run = load.run(setup, { payload, connections: CONNECTIONS, rate: RATE }, minutes * MINUTE_MS);
      const { rss, result } = await watched(setup, run);
      await load.stop();
      const { failed, requests } = result;
      return { setup: setup.name, minutes, rate: RATE, requests, failed, rss_mb: flatness(rss) };
    }),
  );
  clearInterval(ticks);
  await setups.stop();
  return rows;
}

/** Memory of a gateway at regular times while `run` goes on, and what comes of it. */
async function watched<T>(
  setup: Setup,
  run: Promise<T>,
): Promise<{ readonly rss: readonly number[]; readonly result: T }> {
  const rss: number[] = [];
  const over = new AbortController();
  const ended = run.finally(() => over.abort());
  while (!over.signal.aborted) {
    rss.push(gatewayMb(setup));
    await sleep(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => {});
  }
  return { rss, result: await ended };
}

function gatewayMb({ processes }: Setup): number {
  const pid = processes.ext_proc ?? processes.gateway;
  return pid === undefined ? 0 : processFigures(pid).rssMb;
}
