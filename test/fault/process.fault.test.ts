import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/app/wait-until.ts';
import { type Rig, type RigOptions, startRig, untilSettled } from './rig/rig.ts';

/** Makes any process of ours throw where nobody catches, on SIGUSR2. */
const BOMB = `data:text/javascript,${encodeURIComponent('process.on("SIGUSR2", () => setImmediate(() => { throw new Error("boom"); }));')}`;

async function rigOf(t: TestContext, options: RigOptions): Promise<Rig & { readonly server: Rig['servers'][number] }> {
  const rig = await startRig(options);
  t.after(() => rig.stop());
  const [server] = rig.servers;
  assert.ok(server);
  return { ...rig, server };
}

/** Waits until so many streams have sent something. */
async function flows(rig: Rig, streams: number): Promise<void> {
  const flowing = (): number => [...rig.upstream.served.values()].filter((one) => one.completionTokens > 0).length;
  assert.ok(await waitUntil(() => flowing() >= streams, { timeoutMs: 10_000 }));
}

test('an uncaught fault in a worker: it settles, goes, and another takes its place', async (t) => {
  const rig = await rigOf(t, { workers: 2, server: { drain: '5s' }, env: { NODE_OPTIONS: `--import ${BOMB}` } });
  const before = rig.server.workers();
  assert.equal(before.length, 2);
  const [victim = 0] = before;
  const streams = Array.from({ length: 6 }, (_, index) =>
    rig.client.send({ id: `open-${index}`, stream: true, tokens: 40, delayMs: 50 }),
  );
  await flows(rig, 6);
  process.kill(victim, 'SIGUSR2');
  const isReplaced = await waitUntil(
    () => rig.server.workers().length === 2 && !rig.server.workers().includes(victim),
    { timeoutMs: 10_000 },
  );
  assert.ok(isReplaced, 'no other worker came');
  const shots = await Promise.all(streams);
  assert.deepEqual(
    shots.filter(({ complete }) => !complete).map(({ id }) => id),
    [],
    'streams under way end well',
  );
  assert.match(rig.server.log(), /uncaught exception/);
  assert.match(rig.server.log(), /boom/);
  assert.match(rig.server.log(), /worker ended, starting another/);
  assert.ok(await waitUntil(async () => (await fetch(`${rig.server.ops}/readyz`)).ok, { timeoutMs: 15_000 }));
  await sleep(2500);
  const after = await Promise.all(Array.from({ length: 20 }, (_, index) => rig.client.send({ id: `after-${index}` })));
  assert.deepEqual(
    after.filter(({ complete }) => !complete).map(({ body }) => body),
    [],
  );
  assert.notEqual(await untilSettled(rig, 10_000), null, 'open reservations');
  assert.equal(await rig.server.term(), 0);
});

test('an uncaught fault in a server alone: it settles and ends with 1', async (t) => {
  const rig = await rigOf(t, { server: { drain: '5s' }, env: { NODE_OPTIONS: `--import ${BOMB}` } });
  const stream = rig.client.send({ id: 'open', stream: true, tokens: 40, delayMs: 50 });
  await flows(rig, 1);
  process.kill(rig.server.pid(), 'SIGUSR2');
  assert.equal((await stream).complete, true);
  assert.equal(await rig.server.ended(), 1);
  assert.match(rig.server.log(), /uncaught exception/);
  assert.notEqual(await untilSettled(rig, 10_000), null, 'open reservations');
});

test('the primary is killed: its workers go by themselves, and a new one starts at once', async (t) => {
  const rig = await rigOf(t, { workers: 2 });
  const orphans = rig.server.workers();
  const stream = rig.client.send({ id: 'open', stream: true, tokens: 30, delayMs: 50 });
  await flows(rig, 1);
  await rig.server.kill();
  await rig.server.start();
  const shot = await rig.client.send({ id: 'after' });
  assert.equal(shot.complete, true, shot.body);
  assert.equal((await stream).complete, true, 'the stream under way ends well');
  const isGone = await waitUntil(() => orphans.every((pid) => !isAlive(pid)), { timeoutMs: 15_000 });
  assert.ok(isGone, 'a worker of the killed primary lives on');
  assert.notEqual(await untilSettled(rig, 10_000), null, 'open reservations');
});

test('a worker that hangs does not keep the server from ending', async (t) => {
  const rig = await rigOf(t, { workers: 2, server: { drain: '1s' } });
  const [victim = 0] = rig.server.workers();
  process.kill(victim, 'SIGSTOP');
  t.after(() => isAlive(victim) && process.kill(victim, 'SIGKILL'));
  const began = performance.now();
  const code = await Promise.race([rig.server.term(), sleep(15_000, 'still there', { ref: false })]);
  assert.equal(code, 0);
  assert.ok(performance.now() - began < 10_000);
  assert.ok(!isAlive(victim), 'the worker that hangs lives on');
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
