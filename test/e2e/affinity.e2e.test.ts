/** Conversations stay where they are warm, on real Envoy: at low load, under load, and when a backend is ill. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/app/wait-until.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, type Send } from './chat-client.ts';
import { errorAnswer, wholeAnswer } from './openai-answers.ts';

interface Message {
  readonly role: string;
  readonly content: string;
}

/** How long a backend takes: times of one millisecond and of two would differ by half. */
const ANSWER_MS = 80;
const NAMES = ['a', 'b', 'c'];
let backends: readonly MockUpstream[];
let gateway: TestGateway;
let send: Send;

before(async () => {
  backends = await Promise.all(NAMES.map(() => startMockUpstream()));
  const deployments = NAMES.map((backend) => ({ backend }));
  gateway = await startGateway({
    config: {
      backends: NAMES.map((name, at) => ({ name, endpoints: [{ url: `${backends[at]?.url}/v1` }] })),
      models: [
        { name: 'by-prefix', balance: 'load', affinity: 'prefix', deployments },
        { name: 'warm-up', balance: 'load', deployments },
        { name: 'by-session', balance: 'load', affinity: 'session', deployments },
      ],
      breakers: { enabled: true },
    },
  });
  send = chatClient(gateway, await gateway.token());
  // The first requests of a process are slow, whoever serves them: here on a model of its own.
  for (const each of backends) each.respondWith(answer);
  for (let round = 0; round < 5; round += 1)
    await Promise.all(Array.from({ length: 9 }, () => ask('warm-up', talk('warm', 3))));
});
after(async () => {
  try {
    await gateway.stop();
  } finally {
    await Promise.all(backends.map((each) => each.close()));
  }
});
beforeEach(() => {
  for (const each of backends) {
    each.clear();
    each.respondWith(answer);
  }
});

async function answer(): Promise<UpstreamScript> {
  await sleep(ANSWER_MS);
  return wholeAnswer(5);
}

/** A conversation before one of its turns: each turn adds about a thousand tokens. */
function talk(name: string, turn: number): readonly Message[] {
  return Array.from({ length: 2 * turn - 1 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `${name} ${at} `.repeat(Math.ceil(2100 / (name.length + 4))),
  }));
}

/** Asks, and says who served. */
async function ask(model: string, messages: readonly Message[], headers = {}): Promise<string> {
  const reply = await send({ model, messages }, { headers });
  assert.equal(reply.status, 200, reply.text);
  const who = servedBy(reply.headers);
  assert.ok(NAMES.includes(who), who);
  return who;
}

const servedBy = (headers: Headers): string => headers.get('x-tokenlat-backend') ?? '';

for (const model of ['by-prefix', 'by-session'])
  test(`${model}: turns stay with the backend that has them`, async () => {
    const homes = new Map<string, string>();
    let later = 0;
    let stayed = 0;
    for (let turn = 1; turn <= 5; turn += 1)
      for (let at = 0; at < 10; at += 1) {
        const name = `talk-${at}`;
        const who = await ask(model, talk(name, turn));
        if (turn > 1) {
          later += 1;
          if (who === homes.get(name)) stayed += 1;
        }
        homes.set(name, who);
      }
    console.log(
      `${model}: ${stayed} of ${later} later turns stayed; homes: ${[...homes.values()].toSorted().join(' ')}`,
    );
    assert.ok(stayed >= 0.9 * later, `${stayed} of ${later}`);
    assert.ok(new Set(homes.values()).size > 1, 'all conversations on one backend');
  });

test('a session by its name, whatever is said in it', async () => {
  const headers = { 'x-session-id': 's-1' };
  const home = await ask('by-session', [{ role: 'user', content: 'one' }], headers);
  for (const content of ['two', 'three', 'four'])
    assert.equal(await ask('by-session', [{ role: 'user', content }], headers), home);
});

test('under load a prompt that all begin with is spread', async () => {
  // All are under way at once, however slowly they come: the first answer waits for the last request.
  const held = async (): Promise<UpstreamScript> => {
    await waitUntil(() => backends.reduce((sum, { requests }) => sum + requests.length, 0) >= 36, {
      timeoutMs: 15_000,
      everyMs: 5,
    });
    return answer();
  };
  for (const each of backends) each.respondWith(held);
  const replies = await Promise.all(
    Array.from({ length: 36 }, async (_, at) => {
      // One after another, all at once under way.
      await sleep(at * 2);
      return ask('by-prefix', [...talk('shared', 3), { role: 'user', content: `question ${at}` }]);
    }),
  );
  const counts = NAMES.map((name) => replies.filter((who) => who === name).length);
  console.log(`36 at once: ${counts.join(' ')}`);
  // No more than 1.5 times the mean, and 2, and the one that may come then.
  assert.ok(Math.max(...counts) <= 1.5 * 12 + 3, counts.join(' '));
});

test('a conversation moves when its backend is ill, and the answer says why who served stood there', async () => {
  const home = await ask('by-prefix', talk('ill', 1));
  assert.equal(await ask('by-prefix', talk('ill', 2)), home);
  backends[NAMES.indexOf(home)]?.respondWith(errorAnswer(503));
  const moved = await ask('by-prefix', talk('ill', 3));
  assert.notEqual(moved, home);
  for (let turn = 4; turn <= 6; turn += 1) assert.equal(await ask('by-prefix', talk('ill', turn)), moved);
  const failed = backends[NAMES.indexOf(home)]?.requests.length ?? 0;
  assert.equal(failed, 2 + 1, 'it was asked again while it was ill');
  const reply = await send({ model: 'by-prefix', messages: talk('ill', 7) });
  assert.deepEqual([servedBy(reply.headers), reply.headers.get('x-route-reason')], [moved, 'warm']);
  const trace = await gateway.trace(reply.requestId);
  const candidates = (trace as unknown as { candidates: { place: number | null; warm: number | null }[] }).candidates;
  const warm = candidates.find(({ place }) => place === 1)?.warm ?? 0;
  assert.ok(warm > 0.7 && warm < 1, String(warm));
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(metrics, /tokenlat_affinity_total\{[^}]*model="by-prefix"[^}]*outcome="hit"[^}]*\} \d/);
});
