import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Candidate } from '../core/decision.ts';
import { addressOf } from '../core/endpoint.ts';
import { placesOf } from '../core/places.ts';
import type { Deployment } from '../core/snapshot.ts';
import { configOf, contextOf, deploymentOf, requestOf } from './flow-kit.test.ts';
import { planMutation, planOf, watchOf } from './plan.ts';
import { WATCH_HEADER } from '../core/envoy-headers.ts';

const deployments = ['a', 'b', 'c', 'd'].map((name) => deploymentOf(name));
const contextWith = (count: number, retries = 2, stream = true) =>
  contextOf({ config: configOf({ retry: { retries } }), request: requestOf({ stream }) }, deployments.slice(0, count));
const names = (plan: ReturnType<typeof planOf>) => plan.map((each) => each.deployment.backend.name);
const withoutReplay = <T extends ReturnType<typeof contextWith>>(ctx: T): T =>
  Object.assign(ctx, { decision: { ...ctx.decision, mayReplay: false } });
const header = (mutation: ReturnType<typeof planMutation>, name: string) =>
  mutation.set?.find(([given]) => given === name)?.[1];

test('a plan has at least one and at most retries + 1 entries, from the place that has room on', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 2 }), fc.nat(5), (count, retries, start) => {
      const plan = names(planOf(contextWith(count, retries), start));
      const from = start < count ? start : 0;
      const most = start < count ? retries + 1 : 1;
      assert.deepEqual(plan, ['a', 'b', 'c', 'd'].slice(from, Math.min(count, from + most)));
    }),
  );
});

test('what can fail over, and may be watched, is watched to its first output', () => {
  const yes = () => true;
  const never = () => assert.fail('asked though nothing depends on it');
  const one = contextWith(1);
  const two = contextWith(2);
  const whole = contextWith(2, 2, false);
  assert.equal(watchOf(one, planOf(one, 0), never), 'none');
  assert.equal(watchOf(two, planOf(two, 0), yes), 'body');
  assert.equal(
    watchOf(two, planOf(two, 0), () => false),
    'head',
  );
  assert.equal(watchOf(whole, planOf(whole, 0), yes), 'body', 'its head may be followed by silence');
  const kept = withoutReplay(whole);
  assert.equal(watchOf(kept, planOf(kept, 0), never), 'head', 'nothing could be done about the silence');
  const buffered = withoutReplay(
    Object.assign(contextWith(2), { surge: { level: 1, divert: null, reduced: null, buffered: true } }),
  );
  assert.equal(watchOf(buffered, planOf(buffered, 0), never), 'head', 'asked for whole');
});

test('what a backend took and never answered is replayed by rule, and only elsewhere', () => {
  const retryOn = (ctx: ReturnType<typeof contextWith>) =>
    header(planMutation(ctx, planOf(ctx, 0), 'none', 1000), 'x-envoy-retry-on');
  assert.equal(retryOn(contextWith(2)), 'reset');
  assert.equal(retryOn(withoutReplay(contextWith(2))), undefined);
  const { backend } = deploymentOf('pool');
  const [endpoint = { host: '10.0.0.1', port: 80, weight: 1 }] = backend.endpoints ?? [];
  const pool = (count: number) =>
    contextOf({}, [deploymentOf('pool', { backend: { ...backend, endpoints: Array(count).fill(endpoint) } })]);
  assert.equal(retryOn(pool(1)), undefined);
  assert.equal(retryOn(pool(2)), 'reset', 'another endpoint of the same backend');
  assert.equal(retryOn(withoutReplay(pool(2))), undefined);
  assert.equal(
    watchOf(pool(2), planOf(pool(2), 0), () => true),
    'head',
    'what it answered tells a death from a refusal',
  );
});

test('Envoy reads the plan as one priority group a try', () => {
  const ctx = contextWith(3);
  const plan = planOf(ctx, 1);
  const mutation = planMutation(ctx, plan, 'body', 1000);
  assert.deepEqual(mutation.metadata, {
    'tokenlat.route': {
      priority_groups: [
        { name: 'try-1', clusters: [{ cluster_name: 'b', weight: 1 }] },
        { name: 'try-2', clusters: [{ cluster_name: 'c', weight: 1 }] },
      ],
    },
    'tokenlat.request': { id: ctx.id, affinity: '' },
  });
  assert.equal(header(mutation, 'x-envoy-max-retries'), '1');
  assert.equal(header(mutation, 'x-envoy-retry-on'), 'reset');
  assert.deepEqual(header(mutation, 'x-envoy-retriable-status-codes')?.split(','), ['401', '403', '404', '408']);
  assert.equal(header(mutation, WATCH_HEADER), 'body');
  assert.equal(mutation.remove, undefined);
});

test('a plan with one entry may be tried again there, but not once the upstream had the request', () => {
  const ctx = contextWith(1);
  const mutation = planMutation(ctx, planOf(ctx, 0), 'none', 1000);
  assert.equal(header(mutation, 'x-envoy-max-retries'), '2');
  assert.equal(header(mutation, 'x-envoy-retry-on'), undefined);
  assert.equal(header(mutation, 'x-envoy-retriable-status-codes'), undefined);
  assert.equal(header(mutation, WATCH_HEADER), undefined);
  assert.deepEqual(mutation.remove, [WATCH_HEADER], 'a client must not choose it');
});

test("Envoy's own timeout lies behind our deadline, even one that has passed", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      (deadline, now) => {
        const ctx = contextOf({ deadline });
        const text = header(planMutation(ctx, planOf(ctx, 0), 'none', now), 'x-envoy-upstream-rq-timeout-ms') ?? '';
        assert.match(text, /^[1-9]\d*$/);
        assert.ok(now + Number(text) > Math.max(deadline, now) + 900);
      },
    ),
  );
});

const poolOf = (name: string, endpoints: number): Deployment => {
  const plain = deploymentOf(name);
  const all = Array.from({ length: endpoints }, (_, at) => ({
    host: `10.0.0.${at}`,
    port: name.charCodeAt(0),
    weight: 1,
  }));
  return { ...plain, backend: { ...plain.backend, pool: { slowStartMs: 0 }, endpoints: all } };
};
const withCandidates = (candidates: readonly Candidate[], retries = 2) => {
  const ctx = contextOf({ config: configOf({ retry: { retries } }) });
  return Object.assign(ctx, { decision: { ...ctx.decision, candidates } });
};
const candidatesOf = (deployment: Deployment): readonly Candidate[] =>
  placesOf(deployment).map((place) => ({ ...place, reason: 'explicit' }));
const listOf = (mutation: ReturnType<typeof planMutation>): string | undefined =>
  mutation.metadata?.['envoy.lb']?.['x-gateway-destination-endpoint'] as string | undefined;

test('the last try leaves a pool where somebody else could serve', () => {
  const pool = candidatesOf(poolOf('p', 4));
  const [other] = candidatesOf(deploymentOf('x'));
  assert.ok(other !== undefined);
  assert.deepEqual(names(planOf(withCandidates([...pool, other]), 0)), ['p', 'p', 'x']);
  assert.deepEqual(names(planOf(withCandidates([...pool, other], 1), 0)), ['p', 'x']);
  assert.deepEqual(names(planOf(withCandidates([...pool, other], 0), 0)), ['p']);
  assert.deepEqual(names(planOf(withCandidates(pool), 0)), ['p', 'p', 'p']);
  assert.deepEqual(names(planOf(withCandidates([other, ...pool]), 0)), ['x', 'p', 'p']);
  assert.deepEqual(names(planOf(withCandidates([...pool, other]), 4)), ['x']);
});

test('each try at a pool has an entry of its own, in their order, and each entry is of the pool that is tried', () => {
  const pools = [poolOf('p', 3), poolOf('q', 2), deploymentOf('x')].flatMap(candidatesOf);
  fc.assert(
    fc.property(fc.shuffledSubarray(pools, { minLength: 1 }), fc.integer({ min: 0, max: 2 }), (candidates, retries) => {
      const ctx = withCandidates(candidates, retries);
      const plan = planOf(ctx, 0);
      const mutation = planMutation(ctx, plan, 'none', 0);
      const list = listOf(mutation)?.split(',') ?? [];
      const tries = 1 + Number(header(mutation, 'x-envoy-max-retries'));
      const wanted = Array.from({ length: tries }, (_, at) => plan[Math.min(at, plan.length - 1)]?.endpoint);
      assert.deepEqual(
        list,
        wanted.flatMap((endpoint) => (endpoint === undefined ? [] : [addressOf(endpoint)])),
      );
    }),
  );
  assert.equal(listOf(planMutation(contextWith(3), planOf(contextWith(3), 0), 'none', 0)), undefined);
});
