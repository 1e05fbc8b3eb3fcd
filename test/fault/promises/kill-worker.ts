import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { quantile, type Shot, startLoad } from '../rig/load.ts';
import { startRig } from '../rig/rig.ts';
import { waitedMs } from '../rig/server-child.ts';
import { atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';

/** How long after a kill a new request may still fail. */
const GRACE_MS = 1000;
/** Within what time both are there again. */
const AGAIN_MS = 3000;

export interface KillWorkerOptions {
  readonly kills: number;
  /** The slowest return of a worker. */
  readonly worstMs: number;
}

/** P06: one of two workers is killed again and again; the other serves. */
export async function killWorker({ kills, worstMs }: KillWorkerOptions): Promise<readonly Verdict[]> {
  const rig = await startRig({ workers: 2 });
  try {
    const [server] = rig.servers;
    if (server === undefined) throw new Error('no server');
    const load = startLoad({ client: rig.client, perSecond: 50, name: 'worker' });
    await sleep(500);
    const killed: number[] = [];
    const back: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      const pids = server.workers();
      const victim = pids[kill % 2];
      if (pids.length !== 2 || victim === undefined) throw new Error(`${pids.length} workers`);
      const before = waitedMs(server.pid());
      process.kill(victim, 'SIGKILL');
      killed.push(performance.now());
      await waitUntil(async () => server.workers().length === 2 && !server.workers().includes(victim), {
        timeoutMs: 15_000,
      });
      await waitUntil(async () => (await fetch(`${server.ops}/readyz`)).ok, { timeoutMs: 15_000 });
      const heir = server.workers().find((pid) => !pids.includes(pid)) ?? 0;
      // For how long a busy machine let neither of them run is not theirs.
      const waited = waitedMs(heir) + waitedMs(server.pid()) - before;
      back.push(performance.now() - (killed.at(-1) ?? 0) - waited);
      await sleep(2500);
    }
    const shots = await load.stop();
    return [judge({ shots, killed, back, unjudged: rig.upstream.unjudged(), worstMs })];
  } finally {
    await rig.stop();
  }
}

interface Course {
  readonly shots: readonly Shot[];
  readonly killed: readonly number[];
  readonly back: readonly number[];
  readonly unjudged: number;
  readonly worstMs: number;
}

function judge({ shots, killed, back, unjudged, worstMs }: Course): Verdict {
  const failed = shots.filter(({ complete }) => !complete);
  const sinceKill = (shot: Shot): number =>
    shot.startedAt - (killed.findLast((at) => at <= shot.startedAt) ?? Infinity);
  const wasUnderWay = ({ startedAt, ms }: Shot): boolean =>
    killed.some((at) => at >= startedAt - 5 && at <= startedAt + ms);
  const after = failed.filter((shot) => !wasUnderWay(shot));
  const late = after.filter((shot) => sinceKill(shot) > GRACE_MS);
  const [first] = late;
  return verdict('P06 one of two workers gone', [
    told('requests', shots.length),
    told('kills', killed.length),
    exactly('upstream requests without our verdict', unjudged, 0),
    told('failed that were under way', failed.length - after.length),
    told('failed that were sent later', after.length),
    atMost('last failure after a kill', Math.max(0, ...after.map(sinceKill)), GRACE_MS, ' ms'),
    ...(first === undefined ? [] : [told('late one', describe(first))]),
    atMost('both workers again p50', quantile(back, 0.5), AGAIN_MS, ' ms'),
    atMost('worst', Math.max(...back), worstMs, ' ms'),
  ]);
}
