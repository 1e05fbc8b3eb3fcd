import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { type Bench, bench, context, deployment, finishOf, placeOf, refusal, runOf, turn } from './schedule-bench.ts';

interface Burst {
  readonly retryAfterMs: number;
  readonly seated: readonly RequestContext[];
  readonly waiting: readonly Promise<unknown>[];
}

/** So many at once; what the last one that is refused is told. */
async function burst(b: Bench, deployments: readonly Deployment[], count: number): Promise<Burst> {
  const seated: RequestContext[] = [];
  const waiting: Promise<unknown>[] = [];
  let retryAfterMs = 0;
  for (let n = 0; n < count; n += 1) {
    const made = context({ deployments, request: { promptTokens: 20, maxOutputTokens: 80 } });
    const config = { ...made.config, models: new Map([['m', { balance: 'weight', deployments }]]) };
    const ctx = { ...made, config } as unknown as RequestContext;
    await runOf(b, ctx);
    const placed = placeOf(b, ctx);
    const outcome = await Promise.race([placed.then(() => 'seated' as const, refusalOf), turn()]);
    if (outcome === 'seated') seated.push(ctx);
    else if (outcome === undefined) waiting.push(placed);
    else retryAfterMs = Math.round((await refusal(placed)).retryAfterMs ?? 0);
  }
  for (const each of waiting) each.catch(() => {});
  return { retryAfterMs, seated, waiting };
}

const refusalOf = (): 'refused' => 'refused';

const rated = (rates: object, queue: number): Deployment =>
  Object.assign(deployment('m'), {
    queue: { size: queue, bytes: 1e6, timeoutMs: 1000, text: null },
    rates: { tokensPerSecond: null, requestsPerSecond: null, burstMs: 1000, ...rates },
  });

/** With its bucket known and full. */
function ratedBench(by: Deployment): Bench {
  const b = bench();
  b.schedule.rates.wishes({ generation: 1, models: new Map([['m', { deployments: [by] }]]) } as never);
  b.now = 1000;
  return b;
}

test('at the start of a burst the rate says when to come again', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const byRequests = rated({ requestsPerSecond: 2 }, 4);
  const first = await burst(ratedBench(byRequests), [byRequests], 8);
  assert.deepEqual([first.seated.length, first.waiting.length, first.retryAfterMs], [2, 4, 2500]);
  const byTokens = rated({ tokensPerSecond: 50 }, 2);
  const second = await burst(ratedBench(byTokens), [byTokens], 4);
  // One of 100 went in where 50 may stand: that and the two that wait must drain.
  assert.deepEqual([second.seated.length, second.waiting.length, second.retryAfterMs], [1, 2, 6000]);
});

test('slots drain as long as they were held lately; until one has ended, by how long they have been held', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const b = bench();
  const by = [deployment('m', { limit: 1, queue: 2 })];
  const fresh = await burst(b, by, 5);
  assert.deepEqual([fresh.seated.length, fresh.waiting.length, fresh.retryAfterMs], [1, 2, 3000]);
  b.now = 1500;
  assert.equal((await burst(b, by, 1)).retryAfterMs, 1500 + 2 * 3000);
  const known = bench();
  const [warm] = (await burst(known, by, 1)).seated;
  known.now = 2000;
  await finishOf(known, warm as RequestContext);
  const next = await burst(known, by, 5);
  assert.deepEqual([next.seated.length, next.waiting.length, next.retryAfterMs], [1, 2, 6000]);
  known.now = 3000;
  assert.equal((await burst(known, by, 1)).retryAfterMs, 5000, 'half of what runs has passed');
});

test('deployments that share requests drain together', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const b = bench();
  const by = ['a', 'b'].map((name) => ({ ...deployment('m', { limit: 1, queue: 3 }), id: `m@${name}`, weight: 1 }));
  const warm = await burst(b, by, 2);
  b.now = 2000;
  for (const ctx of warm.seated) await finishOf(b, ctx);
  const next = await burst(b, by, 9);
  assert.deepEqual([next.seated.length, next.waiting.length, next.retryAfterMs], [2, 6, 7000]);
});
