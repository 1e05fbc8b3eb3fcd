import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createMemoryBudgetState } from '../../store/memory/budget-state.ts';
import { alert, channel, silentLog, World } from './budget-kit.test.ts';
import { backOff, createAlertDelivery } from './deliver-alerts.ts';
import type { SendAlert } from './send-webhook.ts';

const HOUR = 3_600_000;

function bench(send: SendAlert, names: readonly string[] = ['ops']) {
  const world = new World();
  const state = createMemoryBudgetState({ clock: world.clock });
  const channels = new Map(names.map((name) => [name, channel({ name })]));
  const leader = () =>
    createAlertDelivery({
      state,
      channels: () => channels,
      send,
      clock: world.clock,
      log: silentLog,
      figures: world.figures,
      random: () => 1,
    });
  const round = async (delivery: ReturnType<typeof leader>): Promise<void> => {
    await delivery.round();
    await delivery.idle();
  };
  return { world, state, channels, leader, round };
}

test('each channel gets an alert once', async () => {
  const sent: string[] = [];
  const b = bench(async ({ name }, { id }) => void sent.push(`${name} ${id}`), ['ops', 'pager']);
  await b.state.raise(alert(), ['ops', 'pager'], HOUR);
  const delivery = b.leader();
  await b.round(delivery);
  await b.round(delivery);
  assert.deepEqual(sent, ['ops alert_1', 'pager alert_1']);
  assert.deepEqual(b.world.told, ['ops delivered', 'pager delivered']);
  assert.deepEqual(await b.state.pending(9), []);
});

test('what was not taken is tried again after 1, 2, 4 seconds, while other channels go on', async () => {
  const at: number[] = [];
  let start = 0;
  const b = bench(
    async ({ name }) => {
      if (name === 'pager') return;
      at.push((b.world.time - start) / 1000);
      if (at.length < 4) throw new Error('answered 500');
    },
    ['ops', 'pager'],
  );
  start = b.world.time;
  await b.state.raise(alert(), ['ops', 'pager'], HOUR);
  const delivery = b.leader();
  for (let i = 0; i < 40; i += 1) {
    await b.round(delivery);
    b.world.time += 250;
  }
  assert.deepEqual(at, [0, 1, 3, 7]);
  assert.deepEqual(await b.state.pending(9), []);
  assert.equal(b.world.told.filter((word) => word === 'ops failed').length, 3);
});

test('another leader goes on with the same id', async () => {
  const ids: string[] = [];
  const b = bench(async (_channel, { id }) => {
    ids.push(id);
    if (ids.length === 1) throw new Error('no');
  });
  await b.state.raise(alert(), ['ops'], HOUR);
  await b.round(b.leader());
  await b.round(b.leader());
  assert.deepEqual(ids, ['alert_1', 'alert_1']);
  assert.deepEqual(await b.state.pending(9), []);
});

test('a channel that is not in the configuration is waited for, and given up after a day', async () => {
  const b = bench(async () => {});
  await b.state.raise(alert(), ['later', 'never'], HOUR);
  const delivery = b.leader();
  await b.round(delivery);
  b.channels.set('later', channel({ name: 'later' }));
  b.world.time += HOUR;
  await b.round(delivery);
  assert.deepEqual(
    (await b.state.pending(9)).map((each) => each.channel),
    ['never'],
  );
  b.world.time += 23 * HOUR;
  await b.round(delivery);
  assert.equal(b.world.told.at(-1), 'never given_up');
  assert.deepEqual(await b.state.pending(9), []);
});

test('few at once, all in the end, none twice at the same time', async () => {
  const running = new Set<string>();
  let most = 0;
  const b = bench(async ({ name }, { id }) => {
    assert.ok(!running.has(`${name} ${id}`));
    running.add(`${name} ${id}`);
    most = Math.max(most, running.size);
    await new Promise((resolve) => setImmediate(resolve));
    running.delete(`${name} ${id}`);
  });
  for (let i = 0; i < 500; i += 1) await b.state.raise(alert({ id: `alert_${i}` }), ['ops'], HOUR);
  const delivery = b.leader();
  for (let i = 0; i < 500 && (await b.state.pending(1)).length > 0; i += 1) {
    await delivery.round();
    await delivery.round();
    await delivery.idle();
  }
  assert.deepEqual(await b.state.pending(9), []);
  assert.equal(b.world.told.length, 500);
  assert.equal(most, 8);
});

test('waits grow and stay between half a second and five minutes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
      const wait = backOff(tries, random);
      assert.ok(wait >= 500 && wait <= 300_000);
      assert.ok(backOff(tries + 1, random) >= wait);
    }),
  );
});
