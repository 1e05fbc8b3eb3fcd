import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit } from './admin-kit.test.ts';

const AT = '/admin/deployments/m@b';

test('stages go forward by the API, each change under its version and in the audit', async () => {
  const { call, entries } = adminKit();
  const read = await call('GET', AT);
  assert.deepEqual([read.json['stage'], read.json.version, read.headers['etag']], ['full', 0, '"0"']);
  const change = (body: object, version: number) =>
    call('PATCH', AT, { body, headers: { 'if-match': `"${version}"` } });
  const back = await change({ stage: 'gray' }, 0);
  assert.deepEqual([back.status, back.json.error?.code, back.json.error?.param], [409, 'conflict', 'stage']);
  assert.match(back.json.error?.message ?? '', /may become retired/);
  assert.equal((await change({ stage: 'retired' }, 3)).status, 412);
  assert.equal((await change({ stage: 'retired' }, 0)).json['stage'], 'retired');
  assert.equal((await change({ stage: 'full' }, 1)).status, 409);
  const again = await change({ stage: 'gray', percent: 5 }, 1);
  assert.deepEqual([again.json['stage'], again.json['percent'], again.json['configured_stage']], ['gray', 5, 'full']);
  assert.equal((await change({ percent: 20 }, 2)).json['percent'], 20);
  assert.equal((await change({}, 3)).status, 400);
  assert.equal((await change({ percent: 101 }, 3)).status, 400);
  const done = entries.filter(({ facts }) => facts['outcome'] === 'done').map(({ facts }) => facts['action']);
  assert.deepEqual(done, ['deployment.update', 'deployment.update', 'deployment.update']);
  const { json } = await call('GET', '/admin/deployments');
  assert.deepEqual(
    json.data?.map(({ id, stage, percent }) => [id, stage, percent]),
    [['m@b', 'gray', 20]],
  );
  assert.equal((await call('GET', '/admin/deployments/m@c')).status, 404);
});
