import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alarm } from './alarm.ts';

test('an alarm rings once, for what was set last', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const rung: string[] = [];
  const alarm = new Alarm();
  alarm.set(100, () => rung.push('first'));
  t.mock.timers.tick(99);
  alarm.set(50, () => rung.push('second'));
  t.mock.timers.tick(49);
  assert.deepEqual(rung, []);
  t.mock.timers.tick(1);
  assert.deepEqual(rung, ['second']);
  t.mock.timers.tick(1000);
  assert.deepEqual(rung, ['second']);
});

test('what is cleared does not ring, and a time that has passed rings at once but not in this turn', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let rung = 0;
  const alarm = new Alarm();
  alarm.clear();
  alarm.set(-5, () => (rung += 1));
  assert.equal(rung, 0);
  alarm.clear();
  t.mock.timers.tick(10);
  assert.equal(rung, 0);
  alarm.set(-5, () => (rung += 1));
  t.mock.timers.tick(1);
  assert.equal(rung, 1);
});
