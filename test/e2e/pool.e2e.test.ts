/** A pool of three endpoints on real Envoy: who serves is our choice, and one that is ill costs no client anything. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf } from '../../src/core/endpoint.ts';
import type { MockUpstream } from '../support/mock-upstream.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { useGateway } from '../support/use-gateway.ts';
import { chatClient, question } from './chat-client.ts';
import { errorAnswer, wholeAnswer } from './openai-answers.ts';
import { startMockUpstream } from '../support/mock-upstream.ts';

const ANSWER_MS = 60;
const other = await startMockUpstream();
const { gateway, upstreams } = await useGateway({
  servers: [other],
  config: (pool) => ({
    backends: [
      {
        name: 'gpu',
        pool: {},
        endpoints: pool.map(({ url }, at) => ({ url: `${url}/v1`, failure_domain: `rack-${at}` })),
      },
      { name: 'cloud', endpoints: [{ url: `${other.url}/v1` }] },
    ],
    models: [{ name: 'chat', deployments: [{ backend: 'gpu' }, { backend: 'cloud' }] }],
    breakers: { enabled: true },
    retry: { base: '5ms', max: '10ms' },
  }),
});
const send = chatClient(gateway, await gateway.token());

const answerAfter = (ms: number) => async (): Promise<UpstreamScript> => {
  await sleep(ms);
  return wholeAnswer(5);
};

beforeEach(() => {
  for (const each of [...upstreams, other]) {
    each.clear();
    each.respondWith(answerAfter(ANSWER_MS));
  }
});

const addressOfMock = ({ port }: MockUpstream): string => addressOf({ host: '127.0.0.1', port });
const countsNow = (): readonly number[] => upstreams.map(({ requests }) => requests.length);

/** So many requests, `inParallel` at a time; every one must be answered well. */
async function load(count: number, inParallel = 6): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const reply = await send(question('chat'));
      assert.equal(reply.status, 200, reply.text);
    }
  };
  await Promise.all(Array.from({ length: inParallel }, one));
}

interface Traced {
  readonly attempts: readonly { readonly endpoint?: string; readonly backend: string; readonly outcome: string }[];
  readonly candidates: readonly { readonly deployment: string; readonly place: number | null }[];
}
const traceOf = async (requestId: string): Promise<Traced> => (await gateway.trace(requestId)) as unknown as Traced;

test('endpoints share by load, each where it was picked to go, and records name them', async () => {
  await load(60);
  const counts = countsNow();
  assert.ok(Math.min(...counts) >= 12, counts.join(' '));
  assert.equal(other.requests.length, 0);
  const before = countsNow();
  const reply = await send(question('chat'));
  const served = upstreams.findIndex(({ requests }, at) => requests.length > (before[at] ?? 0));
  const address = addressOfMock(upstreams[served] as MockUpstream);
  const { attempts, candidates } = await traceOf(reply.requestId);
  assert.deepEqual(
    attempts.map(({ endpoint }) => endpoint),
    [address],
  );
  assert.equal(candidates.find(({ place }) => place === 1)?.deployment, `chat@gpu/${address}`);
  assert.equal(reply.headers.get('x-tokenlat-backend'), 'gpu');
  assert.equal((await gateway.envoyStats('cluster.gpu.upstream_rq_503'))['cluster.gpu.upstream_rq_503'] ?? 0, 0);
});

interface Fault {
  readonly name: string;
  readonly start: (ill: MockUpstream) => unknown;
  readonly end: (ill: MockUpstream) => unknown;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'answers 503',
    start: (ill) => ill.respondWith(errorAnswer(503)),
    end: (ill) => ill.respondWith(answerAfter(ANSWER_MS)),
  },
  {
    name: 'takes ten times as long',
    start: (ill) => ill.respondWith(answerAfter(10 * ANSWER_MS)),
    end: (ill) => ill.respondWith(answerAfter(ANSWER_MS)),
  },
  { name: 'is gone', start: (ill) => ill.refuse(), end: (ill) => ill.listen() },
];

for (const [at, { name, start, end }] of FAULTS.entries())
  test(`an endpoint that ${name}: no client error, and the traffic moves`, async () => {
    const ill = upstreams[at] as MockUpstream;
    await load(18);
    await start(ill);
    // What is under way there when it begins, and what finds it out.
    await load(30);
    const before = countsNow();
    await load(60);
    const later = countsNow().map((count, index) => count - (before[index] ?? 0));
    const others = later.filter((_, index) => index !== at);
    console.log(`an endpoint that ${name}: of 60 requests it got ${later[at]}, the others ${others.join(' and ')}`);
    await end(ill);
    assert.ok((later[at] ?? 0) <= 6, later.join(' '));
    assert.equal(other.requests.length, 0, 'the other backend was needed');
  });

test('when the whole pool is ill, the last try goes to the next backend', async () => {
  for (const each of upstreams) each.respondWith(errorAnswer(503));
  const reply = await send(question('chat'));
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('x-tokenlat-backend'), 'cloud');
  const { attempts } = await traceOf(reply.requestId);
  assert.deepEqual(
    attempts.map(({ backend, outcome }) => `${backend} ${outcome}`),
    ['gpu failed_over', 'gpu failed_over', 'cloud served'],
  );
  const tried = attempts.flatMap(({ endpoint }) => endpoint ?? []);
  assert.equal(new Set(tried).size, 2, `${tried.join(' ')}: the same endpoint twice`);
  for (const address of tried)
    assert.equal(upstreams.find((each) => addressOfMock(each) === address)?.requests.length, 1, address);
});
