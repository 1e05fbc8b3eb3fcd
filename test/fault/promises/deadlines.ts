import { generateKeyPairSync } from 'node:crypto';
import net from 'node:net';
import { SignJWT } from 'jose';
import { createClient, type Order, type Shot } from '../rig/load.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';

const REQUEST_MS = 1000;
const JWKS_MS = 800;
const ISSUER = 'https://silent.test';

/** How much later than its deadline an answer may come. */
export interface DeadlineOptions {
  readonly slackMs: number;
}

/** P07: a silent upstream and a silent key server cost no more than their deadlines. (A silent Redis: `pauseRedis`.) */
export async function keepsDeadlines({ slackMs }: DeadlineOptions): Promise<readonly Verdict[]> {
  const hole = await blackHole();
  const jwks = { url: `http://127.0.0.1:${hole.port}/keys`, timeout: `${JWKS_MS}ms`, cooldown: '100ms' };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rig = await startRig({
    config: {
      timeouts: { request: `${REQUEST_MS}ms` },
      retry: { retries: 0 },
      auth: {
        issuers: [
          { issuer: ISSUER, audience: 'gateway', algorithms: ['ES256'], jwks },
          {
            issuer: 'https://issuer.test',
            algorithms: ['HS256'],
            secret: 'a-shared-secret-of-the-tests-0123456789abcdef',
          },
        ],
      },
    },
  });
  try {
    const token = await new SignJWT({ sub: 'u', tenant: 'acme', models: ['*'] })
      .setProtectedHeader({ alg: 'ES256', kid: 'unknown' })
      .setIssuer(ISSUER)
      .setAudience('gateway')
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(privateKey);
    const stranger = createClient(rig.origin, token);
    const noKeys = await rounds(stranger.send, 'keys', {}, JWKS_MS + slackMs);
    stranger.close();
    rig.upstream.hang = true;
    const hung = await rounds(rig.client.send, 'hung', {}, REQUEST_MS + slackMs);
    const hungStreams = await rounds(rig.client.send, 'hung-stream', { stream: true }, REQUEST_MS + slackMs);
    rig.upstream.hang = false;
    const after = await many(rig.client.send, 'after', {});
    return [
      await judge(rig, 'P07 key server silent', noKeys, {
        status: 503,
        code: 'identity_provider_unavailable',
        deadlineMs: JWKS_MS,
        slackMs,
      }),
      await judge(rig, 'P07 upstream silent', hung, {
        status: 504,
        code: 'upstream_timeout',
        deadlineMs: REQUEST_MS,
        slackMs,
      }),
      await judge(rig, 'P07 upstream silent, streams', hungStreams, {
        status: 504,
        code: 'upstream_timeout',
        deadlineMs: REQUEST_MS,
        slackMs,
      }),
      verdict('P07 afterwards all is well', [
        exactly('not complete', after.filter(({ complete }) => !complete).length, 0),
      ]),
    ];
  } finally {
    await rig.stop();
    hole.close();
  }
}

/** A machine that stands still for a moment makes a round late: again, up to three in all, of which one must be in time. */
async function rounds(
  send: (order: Order) => Promise<Shot>,
  name: string,
  order: Omit<Order, 'id'>,
  mostMs: number,
): Promise<readonly (readonly Shot[])[]> {
  const tried: (readonly Shot[])[] = [];
  while (tried.length < 3 && !tried.some((shots) => slowest(shots) <= mostMs))
    tried.push(await many(send, `${name}-${tried.length}`, order));
  return tried;
}

const slowest = (shots: readonly Shot[]): number => Math.max(...shots.map(({ ms }) => ms));

async function many(
  send: (order: Order) => Promise<Shot>,
  name: string,
  order: Omit<Order, 'id'>,
): Promise<readonly Shot[]> {
  return Promise.all(Array.from({ length: 20 }, (_, index) => send({ id: `${name}-${index}`, ...order })));
}

async function judge(
  rig: Rig,
  promise: string,
  tried: readonly (readonly Shot[])[],
  {
    status,
    code,
    deadlineMs,
    slackMs,
  }: { readonly status: number; readonly code: string; readonly deadlineMs: number; readonly slackMs: number },
): Promise<Verdict> {
  const odd = tried.flat().filter((shot) => shot.status !== status || shot.code !== code);
  const [one] = odd;
  const timeouts = Object.values(await rig.envoyStats('message_timeouts')).reduce((sum, value) => sum + value, 0);
  return verdict(promise, [
    exactly('answers not by rule', odd.length, 0),
    ...(one === undefined ? [] : [told('such as', describe(one))]),
    told('rounds', tried.length),
    atMost('slowest', Math.min(...tried.map(slowest)), deadlineMs + slackMs, ' ms'),
    exactly('message_timeouts', timeouts, 0),
  ]);
}

/** Takes connections and says nothing. */
async function blackHole(): Promise<{ readonly port: number; readonly close: () => void }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).resume();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
