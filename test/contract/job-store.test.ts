/** `JobStore`, in memory and in Redis: one set of promises. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { OperationId } from '../../src/core/ids.ts';
import type { JobBounds } from '../../src/core/job.ts';
import type { JobCounts, JobStore } from '../../src/core/ports/job-store.ts';
import { MemoryJobStore } from '../../src/store/memory/job-store.ts';
import { createRedisJobStore } from '../../src/store/redis/job-store.ts';
import { startRedis } from '../support/redis-server.ts';

interface Harness {
  /** A store with nothing in it. */
  readonly fresh: () => Promise<JobStore>;
  readonly close: () => Promise<void>;
}

async function redis(): Promise<Harness> {
  const server = await startRedis();
  const client = new Redis(server.url);
  return {
    fresh: async () => {
      await client.flushall();
      return createRedisJobStore({ client, call: (work) => work(), prefix: 'tl:' });
    },
    close: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

async function memory(): Promise<Harness> {
  const fresh = async (): Promise<JobStore> => new MemoryJobStore({ clock: { time: () => Date.now() } });
  return { fresh, close: async () => {} };
}

const BOUNDS: JobBounds = { count: 4, perTenant: 3, bytes: 1000 };
const LEASE = 60;
const KEEP = 60_000;
const NONE: JobCounts = { queued: 0, running: 0, failed: 0, bytes: 0, oldestMs: null };

function job(id: string, { tenant = 'acme', request = 'x'.repeat(10), forMs = 60_000 } = {}) {
  const now = Date.now();
  return { id, tenant, operation: `0-${id}` as OperationId, createdAt: now, expiresAt: now + forMs, request };
}

for (const [name, open] of Object.entries({ memory, redis }))
  describe(`jobs: ${name}`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());
    const fresh = (): Promise<JobStore> => harness.fresh();

    test('a job is begun by one, in order, and its answer is kept', async () => {
      const store = await fresh();
      for (const id of ['a', 'b']) assert.ok(await store.add(job(id), BOUNDS));
      const claims = await Promise.all([1, 2, 3].map((n) => store.claim(`h${n}`, 1000, KEEP)));
      const ids = new Set(claims.map((each) => each?.id ?? null));
      assert.deepEqual(ids, new Set(['a', 'b', null]));
      assert.deepEqual(await store.counts(), { ...NONE, running: 2, bytes: 20 });
      const holder = `h${claims.findIndex((each) => each?.id === 'a') + 1}`;
      assert.equal(await store.renew('a', holder, 1000), 'held');
      assert.equal(await store.renew('a', 'other', 1000), 'lost');
      const end = { state: 'completed', answer: 'sealed', keepMs: KEEP } as const;
      assert.equal(await store.finish('a', 'other', end), false);
      assert.equal(await store.finish('a', holder, end), true);
      assert.equal(await store.finish('a', holder, end), false);
      const done = await store.get('a');
      assert.deepEqual([done?.state, done?.answer, done?.request], ['completed', 'sealed', '']);
      assert.deepEqual(await store.counts(), { ...NONE, running: 1, bytes: 10 });
      await store.drop('b');
      assert.equal((await store.get('b'))?.state, 'running');
      await store.drop('a');
      assert.equal(await store.get('a'), null);
    });

    test('bounds hold for all, for a tenant and for bytes, and what ends makes room', async () => {
      const store = await fresh();
      for (const id of ['a', 'b', 'c']) assert.ok(await store.add(job(id), BOUNDS));
      assert.equal(await store.add(job('d'), BOUNDS), false);
      assert.ok(await store.add(job('e', { tenant: 'globex' }), BOUNDS));
      assert.equal(await store.add(job('f', { tenant: 'third' }), BOUNDS), false);
      assert.equal(await store.cancel('a', 'globex', KEEP), null);
      assert.equal(await store.cancel('a', 'acme', KEEP), 'cancelled');
      assert.equal(await store.cancel('a', 'acme', KEEP), null);
      assert.equal(await store.add(job('g', { request: 'x'.repeat(971) }), BOUNDS), false);
      assert.ok(await store.add(job('g', { request: 'x'.repeat(970) }), BOUNDS));
    });

    test('the jobs of a holder that is gone are begun anew, under the same operation', async () => {
      const store = await fresh();
      await store.add(job('a'), BOUNDS);
      assert.equal((await store.claim('dead', LEASE, KEEP))?.attempts, 0);
      let found: Awaited<ReturnType<JobStore['claim']>> = null;
      const again = async () => ((found = await store.claim('next', 1000, KEEP)), found !== null);
      assert.ok(await waitUntil(again, { timeoutMs: 3000 }));
      const { attempts, operation } = found as unknown as { attempts: number; operation: string };
      assert.deepEqual([attempts, operation], [1, '0-a']);
      assert.equal(await store.renew('a', 'dead', 1000), 'lost');
      assert.equal(await store.finish('a', 'dead', { state: 'completed', answer: 'late', keepMs: KEEP }), false);
    });

    test('what is put back waits its time; what runs hears that nobody wants it', async () => {
      const store = await fresh();
      await store.add(job('a'), BOUNDS);
      await store.claim('h', 1000, KEEP);
      const operation = '0-second' as OperationId;
      assert.equal(await store.putBack('a', 'h', { waitMs: 100, counts: true, keepMs: KEEP, operation }), 'queued');
      assert.equal(await store.claim('h', 1000, KEEP), null);
      let found: Awaited<ReturnType<JobStore['claim']>> = null;
      const again = async () => ((found = await store.claim('h', 1000, KEEP)), found !== null);
      assert.ok(await waitUntil(again, { timeoutMs: 3000 }));
      assert.deepEqual(
        [(found as never as { operation: string }).operation, (await store.get('a'))?.attempts],
        ['0-second', 1],
      );
      assert.equal(await store.cancel('a', 'acme', KEEP), 'running');
      assert.equal(await store.renew('a', 'h', 1000), 'cancelled');
    });

    test('of those that may be begun the oldest goes first, also when it was put back', async () => {
      const store = await fresh();
      for (const [at, id] of ['a', 'b', 'c'].entries())
        await store.add({ ...job(id), createdAt: Date.now() - 1000 + at }, BOUNDS);
      const next = async () => (await store.claim('h', 1000, KEEP))?.id ?? null;
      assert.deepEqual([await next(), await next()], ['a', 'b']);
      await store.putBack('b', 'h', { waitMs: 60, counts: false, keepMs: KEEP });
      await store.putBack('a', 'h', { waitMs: 60, counts: false, keepMs: KEEP });
      assert.equal(await next(), 'c', 'those two may not be begun yet');
      await store.putBack('c', 'h', { waitMs: 0, counts: false, keepMs: KEEP });
      const rested = Date.now() + 100;
      await waitUntil(async () => Date.now() >= rested, { timeoutMs: 3000 });
      assert.deepEqual([await next(), await next(), await next(), await next()], ['a', 'b', 'c', null]);
      assert.deepEqual(await store.counts(), { ...NONE, running: 3, bytes: 30 });
    });

    test('what is over says until when it is kept, however it ended', async () => {
      const store = await fresh();
      const began = Date.now();
      await store.add(job('old', { forMs: -1 }), BOUNDS);
      await store.claim('h', 1000, 5000);
      for (const id of ['done', 'unwanted']) await store.add(job(id), BOUNDS);
      await store.claim('h', 1000, 5000);
      await store.cancel('unwanted', 'acme', 5000);
      await store.finish('done', 'h', { state: 'completed', answer: 'sealed', keepMs: 5000 });
      for (const [id, state] of Object.entries({ old: 'expired', done: 'completed', unwanted: 'cancelled' })) {
        const { state: is, expiresAt = 0 } = (await store.get(id)) ?? {};
        assert.equal(is, state);
        assert.ok(expiresAt >= began + 4990 && expiresAt <= Date.now() + 5010, `${id}: ${expiresAt - began}`);
      }
    });

    test('what ends without an answer, or is put back for another run, owes its reservation until that is paid', async () => {
      const store = await fresh();
      const owed = async (): Promise<readonly string[]> => {
        const all = await store.owed(10_000);
        for (const each of all) assert.equal(each.tenant, 'acme & sons');
        return all.map(({ operation }) => operation).toSorted();
      };
      const add = (id: string, forMs = 60_000) => store.add(job(id, { tenant: 'acme & sons', forMs }), BOUNDS);
      await add('old', -1);
      await store.claim('h', 1000, KEEP);
      await add('waits');
      await store.cancel('waits', 'acme & sons', KEEP);
      await add('vain');
      await store.claim('h', 1000, KEEP);
      await store.finish('vain', 'h', { state: 'failed', answer: null, keepMs: KEEP });
      await add('runs');
      await store.claim('h', 1000, KEEP);
      await store.cancel('runs', 'acme & sons', KEEP);
      await store.finish('runs', 'h', { state: 'cancelled', answer: null, keepMs: KEEP });
      await add('done');
      await store.claim('h', 1000, KEEP);
      await store.finish('done', 'h', { state: 'completed', answer: 'x', keepMs: KEEP });
      await add('back');
      await store.claim('h', 1000, KEEP);
      const again = { waitMs: 60_000, counts: false, keepMs: KEEP };
      await store.putBack('back', 'h', { ...again, operation: '0-next' as OperationId });
      assert.deepEqual(await owed(), ['0-old', '0-runs', '0-vain', '0-waits'], 'of what was put back later');
      assert.deepEqual(await owed(), [], 'another one has them');
      await store.paid({ tenant: 'acme & sons', operation: '0-old' as OperationId });
      assert.equal((await store.counts()).failed, 1);
    });

    test('counts tell since when the oldest of those waits that wait', async () => {
      const store = await fresh();
      const ageOf = async (): Promise<number | null> => (await store.counts()).oldestMs;
      await store.add({ ...job('a'), createdAt: Date.now() - 50_000 }, BOUNDS);
      await store.add({ ...job('b'), createdAt: Date.now() - 20_000 }, BOUNDS);
      assert.ok(Math.abs(((await ageOf()) ?? 0) - 50_000) < 5000);
      await store.claim('h', 1000, KEEP);
      assert.ok(Math.abs(((await ageOf()) ?? 0) - 20_000) < 5000, 'the one that runs waits no more');
      await store.putBack('a', 'h', { waitMs: 60_000, counts: false, keepMs: KEEP });
      assert.ok(Math.abs(((await ageOf()) ?? 0) - 50_000) < 5000);
      for (const id of ['a', 'b']) await store.cancel(id, 'acme', KEEP);
      assert.deepEqual(await store.counts(), NONE);
    });

    test('one that is too old is given once, as such', async () => {
      const store = await fresh();
      await store.add(job('a', { forMs: -1 }), BOUNDS);
      assert.equal((await store.claim('h', 1000, KEEP))?.state, 'expired');
      assert.equal(await store.claim('h', 1000, KEEP), null);
      assert.deepEqual(await store.counts(), NONE);
    });

    test('one that its client wants no more is not begun again, and is given once so that its quota can be given back', async () => {
      const store = await fresh();
      for (const id of ['a', 'b']) await store.add(job(id), BOUNDS);
      const [first, second] = [await store.claim('h', 10_000, KEEP), await store.claim('dead', LEASE, KEEP)];
      for (const each of [first, second]) assert.equal(await store.cancel(each?.id ?? '', 'acme', KEEP), 'running');
      const back = { waitMs: 0, counts: false, keepMs: KEEP };
      assert.equal(await store.putBack(first?.id ?? '', 'other', back), 'lost');
      assert.equal(await store.putBack(first?.id ?? '', 'h', back), 'cancelled');
      let found: Awaited<ReturnType<JobStore['claim']>> = null;
      const again = async () => ((found = await store.claim('next', 1000, KEEP)), found !== null);
      assert.ok(await waitUntil(again, { timeoutMs: 3000 }));
      const { id, state, operation } = found as unknown as { id: string; state: string; operation: string };
      assert.deepEqual([id, state, operation], [second?.id, 'cancelled', second?.operation]);
      assert.equal(await store.claim('next', 1000, KEEP), null);
      assert.deepEqual(await store.counts(), NONE);
    });
  });
