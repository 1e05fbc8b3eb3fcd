import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit } from './admin-kit.test.ts';

const START = { config: 'version: 1 # secret-inline', percent: 5, for_seconds: 60 };

test('one roll-out at a time; what is over is not kept; the audit has no text of a configuration', async () => {
  const { call, entries, directory } = adminKit();
  assert.equal((await call('GET', '/admin/rollouts/current')).status, 404);
  const dry = await call('POST', '/admin/rollouts', { body: { ...START, dry_run: true } });
  assert.deepEqual([dry.status, dry.json['status'], dry.json.id], [201, 'dry_run', null]);
  assert.equal((await call('GET', '/admin/rollouts/current')).status, 404);
  const begun = await call('POST', '/admin/rollouts', { body: START });
  assert.match(String(begun.json.id), /^rollout_[0-9a-f]{20}$/);
  assert.equal(begun.json['status'], 'running');
  assert.equal((await call('POST', '/admin/rollouts', { body: START })).json.error?.code, 'conflict');
  const read = await call('GET', '/admin/rollouts/current');
  assert.deepEqual(read.json['old'], { requests: 200, errors: 1, p95_ms: 12.3 });
  assert.deepEqual(read.json['parts'], [
    { part: 'routes', how: 'percent' },
    { part: 'timeouts', how: 'promotion' },
  ]);
  const aborted = await call('POST', '/admin/rollouts/current/abort');
  assert.deepEqual([aborted.json['status'], aborted.json['reason']], ['aborted', 'aborted by admin']);
  assert.equal((await directory.get('rollout', 'current'))?.text, '');
  assert.equal((await call('POST', '/admin/rollouts/current/promote')).status, 409);
  assert.equal((await call('POST', '/admin/rollouts', { body: START })).status, 201);
  assert.equal((await call('POST', '/admin/rollouts/current/promote')).json['status'], 'promoted');
  assert.equal((await call('POST', '/admin/rollouts/current/abort')).json['status'], 'aborted');
  assert.doesNotMatch(JSON.stringify(entries), /secret-inline/);
  assert.match(JSON.stringify(entries), /config_sha256/);
});

test('what cannot be rolled out is refused with the reason', async () => {
  const check = (parts: readonly { part: string; how: 'percent' | 'promotion' | 'restart' }[], isFileInForce = true) =>
    adminKit({
      rollouts: {
        check: () => ({ ok: true, parts, digest: 'd', base: 'b', isFileInForce }),
        standing: () => Promise.reject(new Error('not asked')),
      },
    }).call('POST', '/admin/rollouts', { body: START });
  const refused = async (...args: Parameters<typeof check>): Promise<string> => {
    const { status, json } = await check(...args);
    return `${status} ${json.error?.message ?? ''}`;
  };
  const routes = { part: 'routes', how: 'percent' } as const;
  assert.match(await refused([routes, { part: 'listen', how: 'restart' }]), /^400 .*needs a restart.*: listen\.$/);
  assert.match(await refused([{ part: 'timeouts', how: 'promotion' }]), /^400 Nothing of it.*: timeouts\.$/);
  assert.match(await refused([]), /^400 It says the same/);
  assert.match(await refused([routes], false), /^409 .*stands on no disk yet/);
  const { json } = await adminKit().call('POST', '/admin/rollouts', { body: { ...START, config: 'bad' } });
  assert.deepEqual([json.error?.message, json.error?.param], ['It is not fit to run: 1:1 x is wrong.', 'config']);
});
