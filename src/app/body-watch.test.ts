import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bodyWatchLimit } from '../extproc/grpc/reset-limits.ts';
import { bodyWatch } from './body-watch.ts';

const { perSecond } = bodyWatchLimit;

test('every stream may be watched where resets are not counted', () => {
  const may = bodyWatch({ now: () => 0, time: () => 0 }, true);
  for (let count = 0; count < 1000; count += 1) assert.equal(may(), true);
});

test('else there are so many a second and no burst of more, whatever the pauses', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { minLength: 1, maxLength: 300 }), (pauses) => {
      let now = 0;
      const may = bodyWatch({ now: () => now, time: () => 0 }, false);
      const granted: number[] = [];
      for (const pause of pauses) {
        now += pause;
        if (may()) granted.push(now);
      }
      for (let index = 0; index < granted.length; index += 1) {
        const since = granted[index]!;
        const within = granted.filter((at) => at >= since && at <= since + 1000).length;
        assert.ok(within <= 2 * perSecond, `${within} within a second`);
      }
      assert.ok(granted.length <= perSecond + (now / 1000) * perSecond + 1e-6);
    }),
  );
});

test('what was used up comes back with time', () => {
  let now = 0;
  const may = bodyWatch({ now: () => now, time: () => 0 }, false);
  for (let count = 0; count < perSecond; count += 1) assert.equal(may(), true);
  assert.equal(may(), false);
  now += 1000 / perSecond + 1;
  assert.deepEqual([may(), may()], [true, false]);
  now += 3_600_000;
  for (let count = 0; count < perSecond; count += 1) assert.equal(may(), true);
  assert.equal(may(), false);
});
