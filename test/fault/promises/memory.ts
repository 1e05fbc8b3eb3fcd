import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderOf } from '../rig/counting-upstream.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { rssOf } from '../rig/server-child.ts';
import { atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';

const MIB = 1024 * 1024;

/** What a piece of 1000 words weighs. */
const BYTES_A_PIECE = 5150;

export interface SlowReadersOptions {
  readonly streams: number;
  /** Of each stream. */
  readonly mebibytes: number;
  /** What the server may grow by. */
  readonly mostMiB: number;
  /** The slowest of the others. */
  readonly besideMs: number;
}

/** P04: clients that do not read cost themselves, and not the server's memory. */
export async function slowReaders({
  streams,
  mebibytes,
  mostMiB,
  besideMs,
}: SlowReadersOptions): Promise<readonly Verdict[]> {
  const rig = await startRig();
  try {
    await warmUp(rig);
    const before = serverRss(rig);
    const envoyBefore = rssOf(rig.envoyPid);
    const tokens = Math.ceil((mebibytes * MIB) / BYTES_A_PIECE);
    const sockets = Array.from({ length: streams }, (_, index) => deafClient(rig, `deaf-${index}`, tokens));
    const peak = await peakRss(rig, 60_000, standsStill(rig));
    const sent = piecesSent(rig);
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, index) => rig.client.send({ id: `beside-${index}` })),
    );
    for (const socket of sockets) socket.destroy();
    return [
      verdict('P04 a slow peer costs only itself', [
        told('streams', streams),
        told('MiB each', mebibytes),
        told('MiB more of Envoy', (rssOf(rig.envoyPid) - envoyBefore) / MIB),
        told('MiB taken from the upstream', (sent * BYTES_A_PIECE) / MIB),
        atMost('MiB more of the server', (peak - before) / MIB, mostMiB),
        told('share of the answers that the upstream got rid of', sent / (streams * tokens)),
        exactly('others that failed meanwhile', others.filter(({ complete }) => !complete).length, 0),
        atMost('slowest of the others', Math.max(...others.map(({ ms }) => ms)), besideMs, ' ms'),
      ]),
    ];
  } finally {
    await rig.stop();
  }
}

function piecesSent(rig: Rig): number {
  return [...rig.upstream.served]
    .filter(([id]) => id.startsWith('deaf'))
    .reduce((sum, [, one]) => sum + one.completionTokens, 0);
}

/** True once the upstream has got rid of nothing more for two seconds. */
function standsStill(rig: Rig): () => boolean {
  let last = 0;
  let since = performance.now();
  return () => {
    const sent = piecesSent(rig);
    if (sent !== last) since = performance.now();
    last = sent;
    return performance.now() - since > 2000;
  };
}

/** P03: many large requests at once stay within six times what was sent. */
export async function manyLargeRequests({ requests }: { readonly requests: number }): Promise<readonly Verdict[]> {
  const rig = await startRig({
    server: { message_timeout: '20s' },
    config: { ledger: { lease: '60s' } },
  });
  try {
    await warmUp(rig);
    const before = serverRss(rig);
    const padding = 'lorem '.repeat(Math.floor(MIB / 6));
    let isOver = false;
    const shots = Promise.all(
      Array.from({ length: requests }, (_, index) => rig.client.send({ id: `large-${index}`, padding })),
    ).finally(() => {
      isOver = true;
    });
    const peak = await peakRss(rig, 60_000, () => isOver);
    const failed = (await shots).filter(({ complete }) => !complete);
    return [
      verdict('P03 memory is bounded', [
        told('requests of 1 MiB at once', requests),
        exactly('failed', failed.length, 0),
        ...(failed[0] === undefined ? [] : [told('such as', `${failed[0].status} ${failed[0].body.slice(0, 200)}`)]),
        atMost('MiB more of the server', (peak - before) / MIB, requests * 6),
      ]),
    ];
  } finally {
    await rig.stop();
  }
}

async function warmUp(rig: Rig): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        rig.client.send({ id: `warm-${round}-${index}`, stream: index % 2 === 0 }),
      ),
    );
  }
}

function serverRss(rig: Rig): number {
  return rig.servers[0]?.rss() ?? 0;
}

async function peakRss(rig: Rig, ms: number, stop: () => boolean = () => false): Promise<number> {
  const end = performance.now() + ms;
  let peak = 0;
  while (performance.now() < end && !stop()) {
    peak = Math.max(peak, serverRss(rig));
    await sleep(20);
  }
  return peak;
}

/** Asks for a stream and reads nothing of it. */
function deafClient(rig: Rig, id: string, tokens: number): net.Socket {
  const messages = [{ role: 'user', content: orderOf(id, tokens, 0, 1000) }];
  const body = JSON.stringify({ model: 'chaos', stream: true, messages });
  const { hostname, port } = new URL(rig.origin);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  socket.pause();
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: ${hostname}`,
    'content-type: application/json',
    `authorization: Bearer ${rig.token}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}
