import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FullModels } from './full-models.ts';

const body = (code: string): { body: string } => ({ body: JSON.stringify({ error: { code } }) });
const FULL = body('deployment_saturated');

function world() {
  const clock = { at: 10_100, time: () => clock.at };
  return { clock, full: new FullModels({ clock }) };
}

test('who finds a model full looks at the next half second, and those behind it do not ask: the deeper, the later', async () => {
  const { clock, full } = world();
  assert.equal(await full.turn('m'), null);
  assert.equal(full.refused('m', FULL), 400);
  const waits = await Promise.all(Array.from({ length: 45 }, () => full.turn('m')));
  assert.deepEqual([waits[0], waits[19], waits[44]], [400, 900, 1400]);
  assert.equal(await full.turn('other'), null);
  clock.at = 10_500;
  assert.equal(await full.turn('m'), null);
});

test('of those that wait one asks first; whoever is behind it hears of its refusal', async () => {
  const { clock, full } = world();
  full.refused('m', FULL);
  clock.at = 10_500;
  const first = full.turn('m');
  const second = full.turn('m');
  assert.equal(await first, null);
  full.refused('m', FULL);
  assert.equal(await second, 500);
});

test('only want of room is shared; other refusals are of those that got them', () => {
  const { full } = world();
  for (const other of [body('insufficient_quota'), body('upstream_rate_limited'), { body: 'no JSON' }])
    assert.equal(full.refused('m', other), null);
  for (const code of ['deployment_saturated', 'pool_saturated', 'zone_saturated'])
    assert.equal(full.refused('m', body(code)), 400);
});
