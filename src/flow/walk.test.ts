import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import { GatewayError } from '../core/error.ts';
import { isPromise } from '../core/maybe-promise.ts';
import type { Step } from '../core/station.ts';
import { STATION_NAMES, type StationName } from '../core/trail.ts';
import { attemptOf, contextOf, deploymentOf } from './flow-kit.test.ts';
import type { AnyStation } from './pipeline.ts';
import { walkAttempt, walkFinish, walkHead, walkRequest } from './walk.ts';

const RESPONSE = { status: 204, headers: [], body: Buffer.alloc(0), details: 'x' };
type How = 'sync' | 'async' | 'none' | 'throw' | 'reject' | 'respond' | 'respond later';

function stationOf(name: StationName, how: How, calls: string[]): AnyStation {
  if (how === 'none') return { name };
  const run = (ctx: RequestContext) => {
    calls.push(`${name} saw ${Object.keys(ctx).filter((key) => key.startsWith('by-')).length}`);
    const step: Step<object> = { note: { decision: how, reason: 'why' }, adds: { [`by-${name}`]: true } };
    if (how === 'throw') throw new Error(`secret of ${name}`);
    if (how === 'reject') return Promise.reject(new GatewayError('no_candidate', name));
    if (how === 'respond') return { respond: RESPONSE };
    if (how === 'respond later') return Promise.resolve({ respond: RESPONSE });
    return how === 'async' ? Promise.resolve(step) : step;
  };
  return { name, run };
}

test('stations that answer at once are passed in one turn', () => {
  const calls: string[] = [];
  const ctx = contextOf();
  const stations = STATION_NAMES.map((name) => stationOf(name, 'sync', calls));
  const result = walkRequest(stations, ctx);
  assert.equal(result, null);
  assert.deepEqual(
    calls,
    STATION_NAMES.map((name, index) => `${name} saw ${index}`),
  );
  assert.deepEqual(
    ctx.trail.stations().map((record) => record.station),
    STATION_NAMES,
  );
});

test('any mix of waiting, passing, refusing and answering goes as its words say', async () => {
  const how = fc.constantFrom<How[]>(
    'sync',
    'sync',
    'async',
    'async',
    'none',
    'throw',
    'reject',
    'respond',
    'respond later',
  );
  await fc.assert(
    fc.asyncProperty(fc.tuple(how, how, how, how, how, how), async (hows) => {
      const calls: string[] = [];
      const ctx = contextOf();
      const stations = STATION_NAMES.map((name, index) => stationOf(name, hows[index]!, calls));
      const last = hows.findIndex((each) => each !== 'sync' && each !== 'async' && each !== 'none');
      const reached = last === -1 ? hows : hows.slice(0, last + 1);
      let outcome: unknown;
      try {
        const walked = walkRequest(stations, ctx);
        assert.equal(
          isPromise(walked),
          reached.some((each) => each === 'async' || each === 'reject' || each === 'respond later'),
        );
        outcome = await walked;
      } catch (reason) {
        outcome = reason;
      }
      assert.equal(calls.length, reached.filter((each) => each !== 'none').length);
      const ending = hows[last];
      if (ending === undefined) assert.equal(outcome, null);
      else if (ending.startsWith('respond')) assert.equal(outcome, RESPONSE);
      else assert.equal((outcome as GatewayError).code, ending === 'throw' ? 'internal_error' : 'no_candidate');
      const record = ctx.trail.stations().at(-1);
      if (ending?.startsWith('respond'))
        assert.deepEqual([record?.decision, record?.reason], ['answered', 'status 204']);
      if (ending === 'throw') assert.deepEqual([record?.decision, record?.reason], ['refused', 'internal_error']);
    }),
    { numRuns: 200 },
  );
});

test('every place comes after every run, and an answer of a run spares them', async () => {
  const calls: string[] = [];
  const both = (name: StationName, later: boolean): AnyStation => ({
    name,
    run: () => (calls.push(`${name}.run`), { note: { decision: 'd', reason: '' }, adds: {} }),
    place: () => {
      calls.push(`${name}.place`);
      const note = { decision: 'placed', reason: '' };
      return later ? Promise.resolve(note) : note;
    },
  });
  const ctx = contextOf();
  assert.equal(await walkRequest([both('schedule', true), both('route', false)], ctx), null);
  assert.deepEqual(calls, ['schedule.run', 'route.run', 'schedule.place', 'route.place']);
  assert.equal(ctx.trail.stations()[0]?.decision, 'placed', 'the later decision stands');
  const answering: AnyStation = { name: 'enhance', run: async () => ({ respond: RESPONSE }) };
  assert.equal(await walkRequest([both('schedule', false), answering], contextOf()), RESPONSE);
  assert.deepEqual(calls.slice(4), ['schedule.run']);
});

test('nobody is asked any more for a request that ended while a station was waited for', async () => {
  const asked: string[] = [];
  let isOver = false;
  const station = (name: StationName, work: () => Promise<void>): AnyStation => ({
    name,
    run: async () => (asked.push(`${name}.run`), await work(), { note: { decision: 'd', reason: '' }, adds: {} }),
    place: async () => (asked.push(`${name}.place`), await work(), { decision: 'd', reason: '' }),
  });
  const leaving = station('schedule', async () => void (isOver = true));
  const waiting = station('schedule', async () => {});
  const way = { decided: () => asked.push('decided'), isOver: () => isOver };
  assert.equal(await walkRequest([leaving, station('route', async () => {})], contextOf(), way), null);
  assert.deepEqual(asked.splice(0), ['schedule.run']);
  isOver = false;
  const last = { ...station('route', async () => void (isOver = true)) };
  assert.equal(await walkRequest([waiting, last], contextOf(), way), null);
  assert.deepEqual(asked.splice(0), ['schedule.run', 'route.run']);
});

test('the head and a try have their own moments', async () => {
  const seen: unknown[] = [];
  const station: AnyStation = {
    name: 'authenticate',
    head: (ctx) => (seen.push(ctx), { note: { decision: 'h', reason: '' }, adds: {} }),
    attempt: (_ctx, attempt) => (seen.push(attempt), Promise.reject(new Error('secret'))),
  };
  const ctx = contextOf();
  const attempt = attemptOf(deploymentOf('a'));
  assert.equal(walkHead([station], ctx), null);
  await assert.rejects(Promise.resolve(walkAttempt([station], ctx, attempt)), { code: 'internal_error' });
  assert.deepEqual(seen, [ctx, attempt]);
});

test('every finish runs once in reverse order, whatever became of the others', async () => {
  const how = fc.constantFrom('sync', 'async', 'none', 'throw', 'reject');
  await fc.assert(
    fc.asyncProperty(fc.tuple(how, how, how, how, how, how), async (hows) => {
      const calls: string[] = [];
      const faults: string[] = [];
      const ending = { kind: 'complete' } as Ending;
      const stations = STATION_NAMES.map((name, index): AnyStation => {
        const each = hows[index];
        if (each === 'none') return { name };
        return {
          name,
          finish(_ctx, given) {
            assert.equal(given, ending);
            calls.push(name);
            if (each === 'throw') throw new Error(name);
            if (each === 'reject') return Promise.reject(new Error(name));
            return each === 'async' ? Promise.resolve() : undefined;
          },
        };
      });
      await walkFinish(stations, contextOf(), ending, (station) => faults.push(station));
      const reversed = STATION_NAMES.toReversed();
      const hadTo = (...which: string[]) =>
        reversed.filter((name) => which.includes(hows[STATION_NAMES.indexOf(name)]!));
      assert.deepEqual(calls, hadTo('sync', 'async', 'throw', 'reject'));
      assert.deepEqual(faults, hadTo('throw', 'reject'));
    }),
    { numRuns: 200 },
  );
});
