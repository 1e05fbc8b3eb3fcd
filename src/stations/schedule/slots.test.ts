import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import type { Note } from '../../core/station.ts';
import type { RequestContext } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import { bench, type Bench, deployment, context, runOf, finishOf, placeOf, refusal, turn } from './schedule-bench.ts';

test('waits in the queue of the first candidate, in order', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const b = bench();
  const deployments = [deployment('a', { limit: 1, queue: 2 }), deployment('b', { limit: 1, queue: 0 })];
  const ctxs = [1, 2, 3].map(() => context({ deployments }));
  for (const ctx of ctxs) await runOf(b, ctx);
  const [first, second, third] = ctxs as [RequestContext, RequestContext, RequestContext];
  assert.match((await placeOf(b, first))?.reason ?? '', /310 tokens reserved; slot at a after 0 ms/);
  const order: number[] = [];
  const waits = [placeOf(b, second).then(() => order.push(2)), placeOf(b, third).then(() => order.push(3))];
  await turn();
  assert.deepEqual(order, []);
  await finishOf(b, first);
  await waits[0];
  await finishOf(b, second);
  await waits[1];
  assert.deepEqual(order, [2, 3]);
  assert.deepEqual(
    [second, third].map((ctx) => b.schedule.placementOf(ctx)),
    [0, 0],
  );
  await finishOf(b, third);
  assert.deepEqual(b.seen.slice(-2), ['a interactive waits 0', 'a runs 0']);
});

test('full or too slow: the next one with a free slot, else 429 with the text of the first', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const b = bench();
  const deployments = [
    deployment('a', { limit: 1, queue: 1, text: 'Come back later.' }),
    deployment('b', { limit: 1, queue: 5 }),
    deployment('c', { limit: 1, queue: 0 }),
  ];
  const ctxs = [1, 2, 3, 4, 5].map(() => context({ deployments }));
  for (const ctx of ctxs) await runOf(b, ctx);
  const [a, waiting, full, alsoFull, none] = ctxs as [
    RequestContext,
    RequestContext,
    RequestContext,
    RequestContext,
    RequestContext,
  ];
  await placeOf(b, a);
  const late = placeOf(b, waiting);
  await placeOf(b, full);
  assert.equal(b.schedule.placementOf(full), 1);
  t.mock.timers.tick(100);
  await late;
  assert.equal(b.schedule.placementOf(waiting), 2);
  const wait = placeOf(b, alsoFull);
  t.mock.timers.tick(100);
  const error = await refusal(wait);
  assert.deepEqual(
    [error.code, error.status, error.message, Math.round(error.retryAfterMs ?? 0)],
    ['deployment_saturated', 429, 'Come back later.', 1000],
  );
  await finishOf(b, a);
  await placeOf(b, none);
  assert.equal(b.schedule.placementOf(none), 0);
  const free = context({ deployments: [deployment('a', { limit: 1, queue: 0 }), deployment('free')], generation: 2 });
  await runOf(b, free);
  await placeOf(b, free);
  assert.equal(b.schedule.placementOf(free), 1);
});

test('nobody waits past the deadline or the end of the request', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const b = bench();
  const deployments = [deployment('a', { limit: 1, queue: 5 })];
  const holder = context({ deployments });
  await runOf(b, holder);
  await placeOf(b, holder);
  const hurried = context({ deployments, deadline: 30 });
  const controller = new AbortController();
  const gone = context({ deployments, signal: controller.signal });
  await runOf(b, hurried);
  await runOf(b, gone);
  const waits = [refusal(placeOf(b, hurried)), refusal(placeOf(b, gone))];
  await turn();
  controller.abort();
  b.now = 30;
  t.mock.timers.tick(30);
  for (const wait of waits) assert.equal((await wait).code, 'request_timeout');
  assert.equal(b.seen.at(-1), 'a interactive waits 0');
});

test('a later try moves the slot', async () => {
  const b = bench();
  const deployments = [
    deployment('a', { limit: 1, queue: 0 }),
    deployment('b', { limit: 1, queue: 0, text: 'b is full' }),
  ];
  const ctx = context({ deployments });
  await runOf(b, ctx);
  await placeOf(b, ctx);
  const tryAt = async (asking: RequestContext, index: number): Promise<Note | undefined> =>
    b.schedule.station.attempt?.(asking, {
      number: index + 1,
      candidate: asking.decision.candidates[index] as never,
      last: false,
    });
  await tryAt(ctx, 0);
  assert.deepEqual(b.seen, ['a runs 1']);
  await tryAt(ctx, 1);
  assert.deepEqual(b.seen, ['a runs 1', 'a runs 0', 'b runs 1']);
  const other = context({ deployments });
  await runOf(b, other);
  await placeOf(b, other);
  const error = await refusal(tryAt(other, 1));
  assert.deepEqual([error.code, error.message], ['deployment_saturated', 'b is full']);
  await finishOf(b, other);
  await finishOf(b, ctx);
  assert.deepEqual(b.seen.slice(-1), ['b runs 0']);
  await assert.rejects(tryAt(ctx, 0), GatewayError);
});

const slots = async (b: Bench, limit: number, generation = 1): Promise<number> => {
  const deployments = [deployment('a', { limit, queue: 0 })];
  for (let taken = 0; ; taken++) {
    const ctx = context({ deployments, generation });
    await runOf(b, ctx);
    if ((await placeOf(b, ctx).catch(() => null)) === null) return taken;
  }
};

test('slots and queues are shared out among workers and follow the newest configuration', async () => {
  assert.deepEqual(
    await Promise.all([0, 1, 2].map((workerIndex) => slots(bench({ workers: 3, workerIndex }), 8))),
    [3, 3, 2],
  );
  assert.deepEqual(
    await Promise.all([0, 1, 2].map((workerIndex) => slots(bench({ workers: 3, workerIndex }), 1))),
    [1, 1, 1],
  );
  const b = bench();
  assert.equal(await slots(b, 2), 2);
  assert.equal(await slots(b, 5, 2), 3);
  assert.equal(await slots(b, 9, 1), 0);
});

test('whatever requests do: no deployment runs more than it may, and all slots come back', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const moves = fc.array(
    fc.record({ who: fc.nat(5), what: fc.constantFrom('place', 'attempt', 'finish', 'abort', 'tick') }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(moves, async (script) => {
      const b = bench();
      const deployments = [deployment('a', { limit: 2, queue: 2 }), deployment('b', { limit: 1, queue: 1 })];
      const controllers = Array.from({ length: 6 }, () => new AbortController());
      const ctxs = controllers.map(({ signal }) => context({ deployments, signal }));
      for (const ctx of ctxs) await runOf(b, ctx);
      const work: Promise<unknown>[] = [];
      for (const { who, what } of script) {
        const ctx = ctxs[who] as RequestContext;
        if (what === 'place') work.push(placeOf(b, ctx).catch(() => {}));
        else if (what === 'attempt') {
          const candidate = ctx.decision.candidates[1] as never;
          work.push(
            (async () => b.schedule.station.attempt?.(ctx, { number: 2, candidate, last: true }))().catch(() => {}),
          );
        } else if (what === 'finish') work.push(finishOf(b, ctx));
        else if (what === 'abort') controllers[who]?.abort();
        else t.mock.timers.tick(60);
        await turn();
      }
      for (const ctx of ctxs) work.push(finishOf(b, ctx));
      t.mock.timers.tick(1000);
      await Promise.all(work);
      for (const line of b.seen) {
        const [, name, running] = /^(\w) runs (\d+)$/.exec(line) ?? [];
        assert.ok(running === undefined || Number(running) <= (name === 'a' ? 2 : 1), line);
      }
      for (const name of ['a', 'b']) {
        const last = b.seen.filter((line) => line.startsWith(`${name} runs`)).at(-1);
        assert.ok(last === undefined || last === `${name} runs 0`, last);
      }
      assert.equal(b.store.settled.length, 6);
    }),
    { numRuns: 100 },
  );
});
