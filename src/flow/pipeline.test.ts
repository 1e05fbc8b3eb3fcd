import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrived, Authenticated, Enhanced, Received, RequestContext, Routed, Scheduled } from '../core/context.ts';
import type { Station } from '../core/station.ts';
import { Pipeline } from './pipeline.ts';

const note = { decision: 'ok', reason: '' };
const authenticate: Station<Arrived, Authenticated> = { name: 'authenticate' };
const schedule: Station<Arrived & Authenticated & Received, Scheduled> = { name: 'schedule' };
const route: Station<Arrived & Authenticated & Received & Scheduled, Routed> = { name: 'route' };
const enhance: Station<Arrived & Authenticated & Received & Scheduled & Routed, Enhanced> = { name: 'enhance' };
const wrap: Station<RequestContext> = { name: 'wrap' };

test('the stations keep the order in which they were joined', () => {
  const { stations } = Pipeline.start().via(authenticate).via(schedule).via(route).via(enhance).via(wrap);
  assert.deepEqual(
    stations.map((station) => station.name),
    ['authenticate', 'schedule', 'route', 'enhance', 'wrap'],
  );
});

test('joining a station leaves the shorter pipeline as it was', () => {
  const start = Pipeline.start();
  const one = start.via(authenticate);
  one.via(schedule);
  assert.deepEqual([start.stations.length, one.stations.length], [0, 1]);
});

test('a wrong order does not compile', () => {
  const start = Pipeline.start();
  // @ts-expect-error the principal is not known yet
  start.via(schedule);
  // @ts-expect-error nothing is booked yet
  start.via(authenticate).via(route);
  // @ts-expect-error nobody has decided who serves
  start.via(authenticate).via(schedule).via(enhance);
  // @ts-expect-error the prompt has not been looked at
  start.via(authenticate).via(schedule).via(route).via(wrap);
  const run = (ctx: RequestContext) => ({ note, adds: { ...ctx.decision } });
  // @ts-expect-error a run may read only what is there by its turn
  const greedy: Station<Arrived> = { name: 'authenticate', run };
  const nothing = () => ({ note, adds: {} });
  // @ts-expect-error a station must give what it says that it adds
  const forgetful: Station<Arrived, Authenticated> = { name: 'authenticate', run: nothing };
  assert.ok(forgetful.run !== undefined && greedy.run !== undefined);
});
