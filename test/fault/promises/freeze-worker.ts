import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { startLoad } from '../rig/load.ts';
import { startRig } from '../rig/rig.ts';
import { atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';

/** How long a process may stand still until its requests are given up and it is replaced: Envoy's pings and ours take 15 s. */
const PATIENCE_MS = 20_000;

/** One of two workers stops to run, and does not end: its requests must not wait for ever. */
export async function freezeWorker(): Promise<readonly Verdict[]> {
  const rig = await startRig({ workers: 2 });
  try {
    const [server] = rig.servers;
    if (server === undefined) throw new Error('no server');
    const load = startLoad({ client: rig.client, perSecond: 10, name: 'frozen' });
    await sleep(1000);
    const victim = server.workers()[0];
    if (victim === undefined) throw new Error('no worker');
    process.kill(victim, 'SIGSTOP');
    const at = performance.now();
    await waitUntil(() => server.workers().length === 2 && !server.workers().includes(victim), {
      timeoutMs: 2 * PATIENCE_MS,
    });
    await waitUntil(async () => (await fetch(`${server.ops}/readyz`)).ok, { timeoutMs: 5000 });
    const back = performance.now() - at;
    await sleep(2000);
    const shots = await load.stop();
    const failed = shots.filter(({ complete }) => !complete);
    const late = failed.filter(({ startedAt }) => startedAt > at + back);
    const [first] = late;
    return [
      verdict('a worker that stands still', [
        told('requests', shots.length),
        told('failed', failed.length),
        exactly('upstream requests without our verdict', rig.upstream.unjudged(), 0),
        atMost('longest wait', Math.max(...shots.map(({ ms }) => ms)), PATIENCE_MS, ' ms'),
        atMost('both workers again', back, PATIENCE_MS, ' ms'),
        exactly('failed after that', late.length, 0),
        ...(first === undefined ? [] : [told('late one', describe(first))]),
      ]),
    ];
  } finally {
    await rig.stop();
  }
}
