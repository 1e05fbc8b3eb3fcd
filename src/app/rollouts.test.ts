import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { RolloutRecord } from '../core/directory.ts';
import type { Ending } from '../core/ending.ts';
import type { AuditEntry } from '../core/ports/audit.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createMemoryStores } from '../store/memory/memory-stores.ts';
import type { Stores } from '../store/stores.ts';
import { silentLog, silentMetrics } from '../telemetry/silent.ts';
import { sourceOf } from '../config/load-config.ts';
import { createLiveConfig } from './live-config.ts';
import { load } from './load.ts';
import { Rollouts } from './rollouts.ts';
import { waitUntil as within } from './wait-until.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-rollouts-'));
after(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'tokenlat.yaml');

const text = (backend: string, more = ''): string => `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends:
  - {name: a, endpoints: [{url: "http://10.0.0.1:8000"}]}
  - {name: b, endpoints: [{url: "http://10.0.0.2:8000"}]}
models: [{name: m, deployments: [{backend: ${backend}}]}]
${more}`;

const OK = { kind: 'complete', status: 200, firstTokenMs: null, totalMs: 10 } as Ending;
const FAILED = { kind: 'failed', status: 502, firstTokenMs: null, totalMs: 10 } as Ending;

function record(
  next: string,
  change: Partial<RolloutRecord> = {},
): Omit<RolloutRecord, 'version' | 'createdAt' | 'updatedAt'> {
  return {
    id: 'current',
    rollout: 'rollout_1',
    percent: 30,
    startAt: 0,
    endAt: 1e15,
    base: sourceOf(text('a')),
    digest: sourceOf(next),
    text: next,
    criteria: { errorIncrease: 0.005, p95Ratio: 1.2, minSamples: 100 },
    by: 'ops',
    status: 'running',
    reason: null,
    ...change,
  };
}

function memory(): Stores {
  const ledger = { maxEvents: 10, keepMs: 1000, zone: 'UTC' } as never;
  return createMemoryStores({ clock: { now: () => performance.now(), time: () => Date.now() }, ledger });
}

/** One worker of a server. */
async function worker(t: { after: (end: () => void) => void }, stores: Stores, isJudge = true) {
  writeFileSync(path, text('a'));
  const config = createLiveConfig(load(path), silentLog, silentMetrics);
  const entries: AuditEntry[] = [];
  const prepared: Snapshot[] = [];
  const turns: string[] = [];
  const rollouts = new Rollouts({
    config,
    stores,
    decided: () => null,
    isJudge,
    replica: 'host-1',
    holder: `holder-${isJudge}`,
    audit: { append: (entry) => void entries.push(entry) },
    clock: { time: () => Date.now() },
    log: silentLog,
    metrics: silentMetrics,
    figures: { percent: () => {}, request: () => {}, turned: (status) => void turns.push(status) },
    everyMs: 20,
  });
  t.after(() => rollouts.close());
  await rollouts.begin(async (next) => void prepared.push(next), 1000);
  return { rollouts, config, entries, prepared, turns };
}

const waitUntil = (holds: () => boolean | Promise<boolean>) => within(holds, { timeoutMs: 5000 });

const status = async (stores: Stores): Promise<string> => {
  const found = await stores.directory.get('rollout', 'current');
  return `${found?.status} ${found?.reason ?? ''}`;
};
const who = (n: number) => ({ tenant: 'acme', subject: `u${n}` });
const backendOf = (config: Snapshot): string | undefined => config.models.get('m')?.deployments[0]?.backend.name;

test('subjects keep their side, the same one at every worker; new ones are as many as the percentage says', async (t) => {
  const stores = memory();
  const [one, two] = [await worker(t, stores), await worker(t, stores, false)];
  assert.equal(one.rollouts.assign(who(1)), null);
  await stores.directory.put('rollout', 'current', record(text('b')), 0);
  assert.ok(await waitUntil(() => one.rollouts.assign(who(1)) !== null && two.rollouts.assign(who(1)) !== null));
  let tried = 0;
  for (let n = 0; n < 4000; n += 1) {
    const side = one.rollouts.assign(who(n));
    assert.equal(two.rollouts.assign(who(n))?.arm, side?.arm);
    assert.equal(backendOf(side?.config as Snapshot), side?.arm === 'new' ? 'b' : 'a');
    if (side?.arm === 'new') tried += 1;
  }
  assert.ok(Math.abs(tried - 1200) <= 5 * Math.sqrt(4000 * 0.3 * 0.7), String(tried));
  assert.deepEqual(one.prepared.map(backendOf), ['b', 'a']);
});

test('each trial, and what is in force after it, has a number of its own: nothing is kept by the bounds of one before', async (t) => {
  const stores = memory();
  const one = await worker(t, stores);
  const numbers = (): readonly (number | undefined)[] => [
    one.rollouts.trial()?.generation,
    one.config.current().generation,
  ];
  assert.deepEqual(numbers(), [undefined, 1]);
  await stores.directory.put('rollout', 'current', record(text('b')), 0);
  assert.ok(await waitUntil(() => one.rollouts.trial() !== null));
  assert.deepEqual(numbers(), [2, 2]);
  await stores.directory.put('rollout', 'current', record(text('b'), { status: 'aborted', text: '' }), 1);
  assert.ok(await waitUntil(() => one.rollouts.trial() === null && one.config.current().generation === 3));
  await stores.directory.put('rollout', 'current', record(text('b'), { rollout: 'rollout_2' }), 2);
  assert.ok(await waitUntil(() => one.rollouts.trial() !== null));
  assert.deepEqual(numbers(), [4, 4]);
});

test('what fails is rolled back by the figures of all workers, once, in the audit', async (t) => {
  const stores = memory();
  const [one, two] = [await worker(t, stores), await worker(t, stores, false)];
  await stores.directory.put('rollout', 'current', record(text('b')), 0);
  assert.ok(await waitUntil(() => one.rollouts.assign(who(1)) !== null && two.rollouts.assign(who(1)) !== null));
  // Neither has seen enough alone.
  for (const { rollouts } of [one, two])
    for (let n = 0, failed = 0; n < 400 && failed < 8; n += 1) {
      const side = rollouts.assign(who(n));
      assert.ok(side !== null);
      rollouts.ended(side, side.arm === 'new' ? FAILED : OK);
      if (side.arm === 'new') failed += 1;
    }
  assert.ok(await waitUntil(async () => (await status(stores)).startsWith('rolled_back more errors: 100 % of 16')));
  assert.ok(await waitUntil(() => one.rollouts.assign(who(1)) === null && two.rollouts.assign(who(1)) === null));
  assert.deepEqual(one.turns, ['rolled_back']);
  assert.deepEqual(
    one.entries.map(({ kind, facts }) => `${kind} ${JSON.stringify(facts['action'])}`),
    ['system "rollout.rolled_back"'],
  );
  assert.equal((await stores.directory.get('rollout', 'current'))?.text, '');
});

test('who starts anew takes part at once, and what was promoted is in force, until the file is another one', async (t) => {
  const stores = memory();
  await stores.directory.put('rollout', 'current', record(text('b')), 0);
  const late = await worker(t, stores);
  assert.notEqual(late.rollouts.assign(who(1)), null);
  await stores.directory.put('rollout', 'current', record(text('b'), { status: 'promoted' }), 1);
  assert.ok(await waitUntil(() => backendOf(late.config.current()) === 'b'));
  assert.equal(late.rollouts.assign(who(1)), null);
  const restarted = await worker(t, stores);
  assert.equal(backendOf(restarted.config.current()), 'b');
  assert.ok(restarted.rollouts.isPromoted);
  assert.ok(restarted.config.current().generation > 1);
  await stores.directory.put('rollout', 'current', record(text('b'), { status: 'aborted', text: '' }), 2);
  assert.ok(await waitUntil(() => backendOf(restarted.config.current()) === 'a'));
});

test('a server with another file takes no part; one that cannot use it says so and ends it', async (t) => {
  const stores = memory();
  const one = await worker(t, stores);
  await stores.directory.put('rollout', 'current', record(text('b'), { base: 'another' }), 0);
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(one.rollouts.assign(who(1)), null);
  await stores.directory.put('rollout', 'current', record(text('c'), { rollout: 'rollout_2' }), 1);
  assert.ok(await waitUntil(async () => (await status(stores)).startsWith('rolled_back host-1 cannot use it: 7:')));
  assert.equal(one.rollouts.assign(who(1)), null);
});

test('a good one is promoted at its end, one of which nothing is known goes back after as long again', async (t) => {
  const stores = memory();
  const one = await worker(t, stores);
  const now = Date.now();
  const lenient = { criteria: { errorIncrease: 0.005, p95Ratio: 2, minSamples: 10 } };
  await stores.directory.put(
    'rollout',
    'current',
    record(text('b'), { startAt: now, endAt: now + 1500, ...lenient }),
    0,
  );
  assert.ok(await waitUntil(() => one.rollouts.assign(who(1)) !== null));
  for (let n = 0; n < 200; n += 1) {
    const side = one.rollouts.assign(who(n));
    assert.ok(side !== null);
    one.rollouts.ended(side, OK);
  }
  assert.ok(await waitUntil(async () => (await status(stores)).startsWith('promoted errors 0 % instead of 0 %')));
  assert.ok(await waitUntil(() => backendOf(one.config.current()) === 'b'));
  const other = memory();
  const idle = await worker(t, other);
  const later = Date.now();
  await other.directory.put('rollout', 'current', record(text('b'), { startAt: later, endAt: later + 100 }), 0);
  assert.ok(
    await waitUntil(async () => (await status(other)).startsWith('rolled_back not shown to be as good: too few')),
  );
  assert.equal(backendOf(idle.config.current()), 'a');
});
