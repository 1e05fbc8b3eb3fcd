import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { entry, rig } from './audit-kit.test.ts';
import { newestEpoch } from './newest-epoch.ts';

test('the newest state that any request saw is found at the ends of the chains', async () => {
  const r = rig();
  try {
    assert.equal(await newestEpoch(r.dir), null);
    const first = r.open();
    first.append(entry(1, { store_epoch: 'a', store_at: 100 }));
    first.append(entry(2, { store_epoch: 'b', store_at: 300 }));
    first.append(entry(3, { store_epoch: 7, store_at: 900 }));
    first.append(entry(4, { store_epoch: 'c', store_at: 'x' }));
    await first.close();
    const second = r.open();
    second.append(entry(5, { store_epoch: 'b', store_at: 200 }));
    for (let n = 0; n < 50; n += 1) second.append(entry(10 + n));
    await second.close();
    assert.deepEqual(await newestEpoch(r.dir), { id: 'b', at: 300 });
    // A torn end is no record.
    appendFileSync(join(r.dir, r.segments().at(-1) ?? ''), '00000010 "store_epoch":"z"');
    assert.deepEqual(await newestEpoch(r.dir), { id: 'b', at: 300 });
  } finally {
    r.clean();
  }
});
