import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRequestId } from '../core/ids.ts';
import { settled } from './flow-kit.test.ts';
import { LiveRequests } from './live-requests.ts';
import type { RequestFlow } from './request-flow.ts';

const flowThat = (shutDown: () => void) => ({ shutDown }) as unknown as RequestFlow;

test('requests are found while they run', () => {
  const live = new LiveRequests();
  const id = newRequestId(0);
  const flow = flowThat(() => {});
  live.add(id, flow);
  assert.equal(live.get(id), flow);
  assert.equal(live.size, 1);
  live.remove(id);
  live.remove(id);
  assert.equal(live.get(id), undefined);
  assert.equal(live.size, 0);
});

test('idle resolves at once, or for everybody with the last request', async () => {
  const live = new LiveRequests();
  await live.idle();
  const [a, b] = [newRequestId(0), newRequestId(0)];
  live.add(
    a,
    flowThat(() => {}),
  );
  live.add(
    b,
    flowThat(() => {}),
  );
  let woken = 0;
  void live.idle().then(() => (woken += 1));
  void live.idle().then(() => (woken += 1));
  live.remove(a);
  await settled();
  assert.equal(woken, 0);
  live.remove(b);
  await settled();
  assert.equal(woken, 2);
});

test('endAll ends each request, though they leave while it goes', () => {
  const live = new LiveRequests();
  let ended = 0;
  for (let count = 0; count < 3; count += 1) {
    const id = newRequestId(0);
    live.add(
      id,
      flowThat(() => {
        ended += 1;
        live.remove(id);
      }),
    );
  }
  live.endAll();
  assert.deepEqual([ended, live.size], [3, 0]);
});
