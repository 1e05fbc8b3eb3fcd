import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import type { Decision } from '../../core/decision.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList } from '../../core/http.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { bench, context, deployment, ending, finishOf, placeOf, refusal, runOf, turn } from './schedule-bench.ts';

/** Deployments of one model that share its requests. */
function shared(...names: readonly string[]): readonly Deployment[] {
  const made = deployment('m', { limit: 1, queue: 2 });
  // Nobody here waits for too long, however slow the machine is.
  const queue = { size: 2, bytes: 1_000_000, timeoutMs: 60_000, text: null };
  return names.map((name) => ({ ...made, queue, id: `m@${name}`, weight: 1 }));
}

function ask(deployments: readonly Deployment[], over: Parameters<typeof context>[0] = {}): RequestContext {
  const ctx = context({ deployments, ...over });
  const config = { ...ctx.config, models: new Map([['m', { balance: 'weight', deployments }]]) };
  return { ...ctx, config } as unknown as RequestContext;
}

const decisionFor = (ctx: RequestContext, ...deployments: readonly Deployment[]): Decision =>
  ({
    ...ctx.decision,
    candidates: deployments.map((each) => ({ deployment: each, reason: 'weighted' })),
  }) as unknown as Decision;

test('deployments that share requests are tried in order; who waits goes where there is room, as it is decided then', async () => {
  const [a, b] = shared('a', 'b') as [Deployment, Deployment];
  const b0 = bench({ again: (ctx) => decisionFor(ctx, b, a) });
  const ctxs = [1, 2, 3].map(() => ask([a, b]));
  for (const ctx of ctxs) await runOf(b0, ctx);
  const [first, second, third] = ctxs as [RequestContext, RequestContext, RequestContext];
  await placeOf(b0, first);
  await placeOf(b0, second);
  assert.deepEqual(b0.seen, ['m@a runs 1', 'm@b runs 1']);
  const wait = placeOf(b0, third);
  await turn();
  await finishOf(b0, first);
  await wait;
  assert.equal(third.decision.candidates[0].deployment.id, 'm@b', 'the new decision is the one that counts');
  assert.equal(b0.schedule.placementOf(third), 1, 'and of it the one with room');
  await finishOf(b0, second);
  await finishOf(b0, third);
  assert.deepEqual(b0.seen.slice(-2), ['m@b runs 0', 'm@a runs 0']);
});

test('when nobody is alive any more, who waits hears of it at once', async () => {
  const [a] = shared('a') as [Deployment];
  const b = bench({
    again: () => {
      throw new GatewayError('no_candidate', 'Nobody lives.');
    },
  });
  const ctxs = [1, 2, 3].map(() => ask([a]));
  for (const ctx of ctxs) await runOf(b, ctx);
  const [runs, ...waits] = ctxs.map((ctx) => placeOf(b, ctx));
  await runs;
  b.schedule.tick();
  for (const wait of waits) assert.equal((await refusal(wait)).code, 'no_candidate');
  assert.equal(b.seen.at(-1), 'm interactive waits 0');
});

test('a batch by tier, route or header, and never less of a batch by header', async () => {
  const [a] = shared('a') as [Deployment];
  const kinds = [
    { principal: { tier: 'batch' } },
    { headers: [['x-request-priority', 'batch']] },
    { route: 'batch' },
    { principal: { tier: 'batch' }, headers: [['x-request-priority', 'interactive']] },
    {},
  ] as const;
  for (const [at, kind] of kinds.entries()) {
    const b = bench();
    const holder = ask([a]);
    const made = ask([a], 'principal' in kind ? { principal: kind.principal } : {});
    const headers = 'headers' in kind ? kind.headers : [];
    const ctx = {
      ...made,
      head: { ...made.head, headers: new HeaderList(headers) },
      decision: { ...made.decision, route: { ...made.decision.route, priority: 'route' in kind ? kind.route : null } },
    } as RequestContext;
    for (const each of [holder, ctx]) await runOf(b, each);
    await placeOf(b, holder);
    void placeOf(b, ctx).catch(() => {});
    await turn();
    assert.equal(b.seen.at(-1), `m ${at < 4 ? 'batch' : 'interactive'} waits 1`);
    await finishOf(b, holder);
  }
  const b = bench();
  const odd = context({});
  Object.assign(odd.head, { headers: new HeaderList([['x-request-priority', 'urgent']]) });
  await assert.rejects(runOf(b, odd), (error: GatewayError) => error.code === 'invalid_header');
});

test('a rate: taken by estimate, corrected by what was used, and refused with the time until there is room', async () => {
  const rated = {
    ...deployment('m@b'),
    rates: { tokensPerSecond: 100, requestsPerSecond: null, burstMs: 1000 },
  } as unknown as Deployment;
  const b = bench();
  // The bucket begins full up.
  b.schedule.rates.wishes({ generation: 1, models: new Map([['m', { deployments: [rated] }]]) } as never);
  b.now = 1000;
  const request = { promptTokens: 20, maxOutputTokens: 80 };
  const first = context({ deployments: [rated], request });
  await runOf(b, first);
  await placeOf(b, first);
  const second = context({ deployments: [rated], request });
  await runOf(b, second);
  const error = await refusal(placeOf(b, second));
  assert.deepEqual(
    [error.code, error.status, Math.round(error.retryAfterMs ?? 0)],
    ['deployment_saturated', 429, 1000],
  );
  assert.deepEqual(error.headers, [['x-refused-reason', 'no_queue']]);
  const used = { attempt: 1, model: 'm@b', backend: 'at-m@b', promptTokens: 20, completionTokens: 30 };
  await b.schedule.station.finish?.(first, ending({ events: [used] }));
  b.now = 1499;
  const third = context({ deployments: [rated], request });
  await runOf(b, third);
  await assert.rejects(placeOf(b, third));
  b.now = 1501;
  await placeOf(b, third);
  const [wish] = b.schedule.rates.wishes({
    generation: 1,
    models: new Map([['m', { deployments: [rated] }]]),
  } as never);
  assert.deepEqual([wish?.name, wish?.rate, wish?.held], ['m@b tokens', 100, 100]);
  assert.ok((wish?.demand ?? 0) > 100, 'what was refused was wanted, too');
});

test('the live rows tell who waits, how long, and who was refused', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [a] = shared('a') as [Deployment];
  const b = bench();
  const ctxs = [1, 2, 3, 4].map((at) => ask([a], at === 3 ? { principal: { tier: 'batch' } } : {}));
  for (const ctx of ctxs) await runOf(b, ctx);
  assert.deepEqual(b.schedule.queues(), []);
  const [runs, ...waits] = ctxs.slice(0, 3).map((ctx) => placeOf(b, ctx));
  await runs;
  b.now = 40;
  assert.equal((await refusal(placeOf(b, ctxs[3] as RequestContext))).code, 'deployment_saturated');
  const [row] = b.schedule.queues();
  assert.deepEqual([row?.model, row?.interactive, row?.batch, row?.oldestMs, row?.refused], ['m', 1, 1, 40, 1]);
  for (const ctx of ctxs) await finishOf(b, ctx);
  await Promise.allSettled(waits);
});
