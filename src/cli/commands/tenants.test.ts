import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordOf } from '../../core/ports/directory-store.ts';
import { ApiError } from '../api-error.ts';
import { cliKit } from '../cli-kit.test.ts';
import { keysCommand } from './keys.ts';
import { linesCommand } from './lines.ts';
import { tenantsCommand } from './tenants.ts';

const kit = await cliKit();

test('set makes a tenant, then changes what is named of the version that it read', async () => {
  const made = await kit.run(tenantsCommand, [
    'set',
    'acme',
    '--tier',
    'gold',
    '--limit',
    'requests/minute=60',
    '--subject-limit',
    'requests/concurrent=2',
  ]);
  assert.equal(made.error, null);
  assert.match(made.out, /^tier +gold$/m);
  const changed = await kit.run(tenantsCommand, ['set', 'acme', '--limit', 'none', '--json']);
  const { tier, limits, subject_limits, version } = changed.json();
  assert.deepEqual([tier, limits, version], ['gold', [], 2]);
  assert.deepEqual(subject_limits, [{ unit: 'requests', window: { kind: 'concurrent' }, limit: 2, model: null }]);
  const [get, patch] = kit.seen.slice(-2);
  assert.deepEqual([get?.method, patch?.method, patch?.headers['if-match']], ['GET', 'PATCH', '"1"']);
  const idle = await kit.run(tenantsCommand, ['set', 'acme']);
  assert.match(idle.error?.message ?? '', /nothing was named to change/);
});

test('whoever was quicker wins, and the other hears of it with 6', async () => {
  await kit.run(tenantsCommand, ['set', 'raced', '--tier', 'a']);
  // Between the read and the write of the command, somebody else writes.
  const get = kit.directory.get.bind(kit.directory);
  let reads = 0;
  const meddle: typeof get = async (kind, id) => {
    const record = await get(kind, id);
    if (kind === 'tenant' && (reads += 1) === 1 && record !== null) {
      await kit.directory.put('tenant', id, record as RecordOf<'tenant'>, record.version);
    }
    return record;
  };
  (kit.directory as { get: typeof get }).get = meddle;
  try {
    const { error } = await kit.run(tenantsCommand, ['set', 'raced', '--tier', 'b']);
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.exitCode], ['precondition_failed', 6]);
  } finally {
    (kit.directory as { get: typeof get }).get = get;
  }
});

test('a tenant that still has something stays, with 6', async () => {
  await kit.run(tenantsCommand, ['set', 'busy']);
  await kit.run(keysCommand, ['create', 'k', '--tenant', 'busy']);
  const { error } = await kit.run(tenantsCommand, ['delete', 'busy']);
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.code, error.exitCode], ['conflict', 6]);
  await kit.run(tenantsCommand, ['set', 'free']);
  const gone = await kit.run(tenantsCommand, ['delete', 'free', '--json']);
  assert.equal(gone.json()['deleted'], true);
});

test('a name with odd characters is one part of the path', async () => {
  const name = 'Müller & Söhne?x=#1%2F';
  assert.equal((await kit.run(tenantsCommand, ['set', name, '--tier', 't'])).error, null);
  assert.equal((await kit.run(tenantsCommand, ['show', name, '--json'])).json()['name'], name);
  const { error } = await kit.run(tenantsCommand, ['show', '..']);
  assert.ok(error instanceof ApiError);
  assert.notEqual(error.status, 200);
});

test('lines are made, changed, listed and deleted', async () => {
  await kit.run(tenantsCommand, ['set', 'lined']);
  const made = await kit.run(linesCommand, [
    'set',
    'lined',
    'search',
    '--cost-tier',
    'economy',
    '--channels',
    'ops,mail',
  ]);
  assert.match(made.out, /^cost tier +economy$/m);
  assert.match(made.out, /^channels +ops mail$/m);
  await kit.run(linesCommand, ['set', 'lined', 'search', '--limit', 'tokens/30s=5,model=m']);
  const { out } = await kit.run(linesCommand, ['list', 'lined']);
  assert.match(out, /^tenant +name +cost tier +limits +channels$/m);
  assert.match(out, /^lined +search +economy +tokens\/30s=5,model=m +ops mail$/m);
  assert.equal((await kit.run(linesCommand, ['delete', 'lined', 'search'])).error, null);
  assert.deepEqual((await kit.run(linesCommand, ['list', 'lined', '--json'])).json()['data'], []);
  const odd = await kit.run(linesCommand, ['set', 'lined', 'x', '--cost-tier', 'cheap']);
  assert.equal(odd.error?.name, 'CommanderError');
});
