import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, quantile, type Shot, startLoad } from '../rig/load.ts';
import { startRig, untilSettled } from '../rig/rig.ts';
import { atLeast, atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { auditBooks } from './audit-books.ts';
import { balance } from './books.ts';

const MESSAGE_TIMEOUT_MS = 2000;
const LEASE_MS = 3000;
/** How often a server looks for leases that are over. */
const SWEEP_MS = 5000;
/** What a server needs to start on a machine that does nothing else; what another one adds to that is not judged here. */
const START_MS = 700;

export interface KillServerOptions {
  readonly kills: number;
  readonly onCrash: 'charge' | 'release';
  /** The slowest return after a restart. */
  readonly worstMs: number;
  readonly say?: (line: string) => void;
}

/** P06, P12, P41 and P43: the only server is killed again and again under load. */
export async function killServer({
  kills,
  onCrash,
  worstMs,
  say = () => {},
}: KillServerOptions): Promise<readonly Verdict[]> {
  const rig = await startRig({
    server: { message_timeout: `${MESSAGE_TIMEOUT_MS}ms` },
    config: { ledger: { lease: `${LEASE_MS}ms`, on_crash: onCrash } },
    audit: true,
  });
  try {
    const [server] = rig.servers;
    if (server === undefined) throw new Error('no server');
    const load = startLoad({ client: rig.client, perSecond: 50, name: `kill-${onCrash}` });
    const recoveries: number[] = [];
    const outages: { readonly from: number; readonly to: number }[] = [];
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(150 + Math.random() * 400);
      const from = performance.now();
      await server.kill();
      const restarted = performance.now();
      const [ready, back] = await Promise.all([
        server.start().then(() => performance.now()),
        firstSuccess(rig.client, `back-${onCrash}-${kill}`),
      ]);
      recoveries.push(back - restarted - Math.max(0, ready - restarted - START_MS));
      outages.push({ from, to: back });
      if (kill % 10 === 0) say(`${kill} of ${kills} kills of the server (${onCrash})`);
    }
    const shots = await load.stop();
    const settledMs = await untilSettled(rig, LEASE_MS + SWEEP_MS + 2000);
    const books = await balance(rig, shots, onCrash);
    return [
      failsClosed({ shots, outages, recoveries, unjudged: rig.upstream.unjudged(), worstMs }),
      verdict(`P12 a crash leaks nothing (${onCrash})`, [
        told('kills', kills),
        exactly('open reservations after a lease', settledMs === null ? await rig.stores.ledger.open() : 0, 0),
        told('gone after ms', settledMs ?? 'never'),
        ...books.figures,
        onCrash === 'charge'
          ? atLeast('leases that ran out, each one event', books.expired, 1)
          : exactly('expired and charged', books.expired, 0),
      ]),
      await auditBooks({ rig, shots, crashed: true }),
    ];
  } finally {
    await rig.stop();
  }
}

/** When the first request of a series of probes was answered. */
async function firstSuccess(client: Client, name: string): Promise<number> {
  for (let probe = 0; probe < 2000; probe += 1) {
    const shot = await client.send({ id: `${name}-${probe}`, tokens: 1 });
    if (shot.complete) return performance.now();
    await sleep(20);
  }
  throw new Error('the server did not come back');
}

function failsClosed({
  shots,
  outages,
  recoveries,
  unjudged,
  worstMs,
}: {
  readonly shots: readonly Shot[];
  readonly outages: readonly { readonly from: number; readonly to: number }[];
  readonly recoveries: readonly number[];
  readonly unjudged: number;
  readonly worstMs: number;
}): Verdict {
  const failed = shots.filter(({ complete }) => !complete);
  // A stream that has begun cannot change its status any more, and is cut.
  const cut = failed.filter(({ stream, status }) => stream && status === 200);
  const refused = failed.filter(({ stream, status }) => !(stream && status === 200));
  const odd = refused.filter(
    ({ status, code, retryAfter }) => status !== 503 || code !== 'processor_unavailable' || retryAfter === null,
  );
  const work = 200;
  const hung = failed.filter(({ ms }) => ms > MESSAGE_TIMEOUT_MS + 1000 + work);
  const unrelated = failed.filter(
    ({ startedAt, ms }) => !outages.some(({ from, to }) => startedAt <= to + 50 && startedAt + ms >= from - 50),
  );
  const [first] = odd;
  return verdict('P06 fails closed', [
    told('requests', shots.length),
    exactly('upstream requests without our verdict', unjudged, 0),
    exactly('hung', hung.length, 0),
    told('refused', refused.length),
    told('streams cut', cut.length),
    {
      ...exactly('refusals of another form', odd.length, 0),
      ...(first === undefined ? {} : { text: `${odd.length} refusals of another form, such as ${describe(first)}` }),
    },
    exactly('failures outside an outage', unrelated.length, 0),
    atMost('recovery p50', quantile(recoveries, 0.5), 2000, ' ms'),
    atMost('recovery worst', Math.max(...recoveries), worstMs, ' ms'),
  ]);
}

/** A shot in one line, for a failing figure. */
export function describe({ id, status, ms, code, retryAfter, body }: Shot): string {
  return `${id}: ${status} ${code ?? ''} after ${Math.round(ms)} ms, retry-after ${retryAfter ?? 'none'}: ${body.slice(-300)}`;
}
