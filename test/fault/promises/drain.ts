import { setTimeout as sleep } from 'node:timers/promises';
import { type Order, startLoad } from '../rig/load.ts';
import { startRig, untilSettled } from '../rig/rig.ts';
import { atMost, exactly, type Figure, judged, told, type Verdict, verdict } from '../rig/verdict.ts';
import { balance } from './books.ts';
import { describe } from './kill-server.ts';

const DRAIN_MS = 6000;

/** A tenth are streams of three seconds. */
function withLongStreams(index: number): Omit<Order, 'id'> {
  return index % 10 === 0
    ? { stream: true, tokens: 60, delayMs: 50 }
    : { tokens: 4, delayMs: 5, stream: index % 3 === 0 };
}

/** P09: two servers behind one Envoy are restarted in turn under load. */
export async function rollingRestarts({ restarts }: { readonly restarts: number }): Promise<readonly Verdict[]> {
  const rig = await startRig({ servers: 2, server: { drain: `${DRAIN_MS}ms` } });
  try {
    const load = startLoad({ client: rig.client, perSecond: 50, name: 'roll', order: withLongStreams });
    await sleep(1000);
    const exits: (number | string | null)[] = [];
    const took: number[] = [];
    for (let restart = 0; restart < restarts; restart += 1) {
      const server = rig.servers[restart % 2];
      if (server === undefined) throw new Error('no server');
      const began = performance.now();
      exits.push(await server.term());
      took.push(performance.now() - began);
      await server.start();
      // A server that is back is used again once Envoy has seen it healthy.
      await sleep(2500);
    }
    const shots = await load.stop();
    const settled = await untilSettled(rig, 3000);
    const failed = shots.filter(({ complete }) => !complete);
    const [first] = failed;
    return [
      verdict('P09 rolling restarts', [
        told('requests', shots.length),
        told('restarts', restarts),
        exactly('failed requests', failed.length, 0),
        ...(first === undefined ? [] : [told('first', describe(first))]),
        exactly('exits other than 0', exits.filter((code) => code !== 0).length, 0),
        atMost('slowest drain', Math.max(...took), DRAIN_MS + 1000, ' ms'),
        exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
        ...(await balance(rig, shots)).figures,
      ]),
    ];
  } finally {
    await rig.stop();
  }
}

/** P09: a server alone lets its streams end, refuses what is new in the known form, and leaves nothing behind. */
export async function drainAlone(): Promise<readonly Verdict[]> {
  const rig = await startRig({ server: { drain: `${DRAIN_MS}ms` } });
  try {
    const [server] = rig.servers;
    if (server === undefined) throw new Error('no server');
    const short = Array.from({ length: 10 }, (_, index) =>
      rig.client.send({ id: `open-${index}`, stream: true, tokens: 80, delayMs: 50 }),
    );
    await sleep(500);
    const began = performance.now();
    const exit = server.term();
    // Envoy may still send while it has not noticed; from then on nothing new is taken.
    await sleep(2000);
    const refused = await Promise.all(Array.from({ length: 5 }, (_, index) => rig.client.send({ id: `new-${index}` })));
    const shots = await Promise.all(short);
    const code = await exit;
    const took = performance.now() - began;
    const settled = await untilSettled(rig, 1000);
    const figures: Figure[] = [
      exactly('open streams that were cut', shots.filter(({ complete }) => !complete).length, 0),
      exactly(
        'new requests not refused as 503 in the known form',
        refused.filter(({ status, code: name, retryAfter }) => status !== 503 || name === null || retryAfter === null)
          .length,
        0,
      ),
      judged('exit code', String(code), code === 0),
      atMost('gone after', took, DRAIN_MS + 1000, ' ms'),
      exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
      ...(await balance(rig, shots)).figures,
    ];
    return [verdict('P09 drain of a server alone', figures), await drainTooLong(rig)];
  } finally {
    await rig.stop();
  }
}

/** What is longer than the limit is cut, settled for what it sent, and the server goes all the same. */
async function drainTooLong(rig: Awaited<ReturnType<typeof startRig>>): Promise<Verdict> {
  const [server] = rig.servers;
  if (server === undefined) throw new Error('no server');
  await server.start();
  await sleep(500);
  const long = rig.client.send({ id: 'long', stream: true, tokens: 400, delayMs: 50 });
  await sleep(500);
  const began = performance.now();
  const code = await server.term();
  const took = performance.now() - began;
  const shot = await long;
  const settled = await untilSettled(rig, 1000);
  const event = (await rig.ledger()).find(({ requestId }) => requestId === 'long');
  const sent = rig.upstream.served.get('long')?.completionTokens ?? 0;
  return verdict('P09 a stream longer than the drain', [
    judged('exit code', String(code), code === 0),
    atMost('gone after', took, DRAIN_MS + 1000, ' ms'),
    exactly('complete', Number(shot.complete), 0),
    exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
    told('tokens sent', sent),
    judged(
      'tokens booked',
      `${event?.completionTokens ?? 'none'} as ${event?.status ?? 'nothing'}`,
      event !== undefined && Math.abs(event.completionTokens - sent) <= sent * 0.1,
    ),
  ]);
}
