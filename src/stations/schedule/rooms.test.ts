import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../core/snapshot.ts';
import { silentMetrics } from '../../telemetry/silent.ts';
import { Rooms } from './rooms.ts';
import { deployment } from './schedule-bench.ts';
import { WaitingRoom } from './waiting-room.ts';

test('two configurations of one generation share a room of the larger size; a newer one sets it anew', (t) => {
  const change = t.mock.method(WaitingRoom.prototype, 'change');
  const rooms = new Rooms({
    workers: 1,
    workerIndex: 0,
    clock: { now: () => 0 },
    after: () => () => {},
    metrics: silentMetrics,
    gates: { onRoom: () => {} },
  });
  const place = (queue: number) => deployment('m', { limit: 1, queue });
  const config = (generation: number, queue: number): Snapshot =>
    ({
      generation,
      priorities: { batchShare: 0.2 },
      models: new Map([['m', { deployments: [place(queue)] }]]),
    }) as unknown as Snapshot;
  const ask = (one: Snapshot, queue: number) => rooms.of(place(queue), one);
  const [old, trial, next] = [config(1, 5), config(1, 2), config(2, 1)];
  const room = ask(old, 5);
  for (const again of [ask(trial, 2), ask(old, 5), ask(trial, 2), ask(next, 1), ask(old, 5)]) assert.equal(again, room);
  assert.deepEqual(
    change.mock.calls.map(({ arguments: [bounds] }) => bounds.size),
    [5, 1],
  );
});
