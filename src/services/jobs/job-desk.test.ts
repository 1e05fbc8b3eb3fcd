import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Arrived, Authenticated, Received } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList, type LocalResponse } from '../../core/http.ts';
import type { OperationId } from '../../core/ids.ts';
import type { Jobs } from '../../core/job.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import { MemoryJobStore } from '../../store/memory/job-store.ts';
import { readRequest } from './job-content.ts';
import { createJobDesk, type JobDeskOptions } from './job-desk.ts';
import { createJobSeal } from './seal-job.ts';

const seal = createJobSeal(new Uint8Array(32).fill(1));
const SETTINGS: Jobs = {
  key: new Uint8Array(32),
  bounds: { count: 2, perTenant: 2, bytes: 1e6 },
  maxAgeMs: 60_000,
  keepMs: 5000,
  once: false,
  concurrency: 1,
  attempts: 1,
  gateway: 'http://x',
};

const who = (tenant: string): Principal =>
  ({ tenant, subject: 'ann', scopes: new Set(['a']), claims: {} }) as unknown as Principal;

function asking(tenant = 'acme', stream = false): Arrived & Authenticated & Received {
  const headers = new HeaderList([
    ['authorization', 'Bearer secret'],
    ['x-request-type', 'nightly'],
    ['cookie', 'secret'],
  ]);
  return {
    operation: '0-op' as OperationId,
    shownId: 'shown-1',
    head: { method: 'POST', path: '/v1/chat/completions?x=1', headers },
    principal: who(tenant),
    request: { raw: Buffer.from('{"prompt":"private"}'), stream, model: 'm' },
  } as unknown as Arrived & Authenticated & Received;
}

function world(change: Partial<JobDeskOptions> = {}) {
  const store = new MemoryJobStore({ clock: { time: () => Date.now() } });
  const reserved: string[] = [];
  const released: string[] = [];
  const entries: AuditEntry[] = [];
  const desk = createJobDesk({
    settings: () => SETTINGS,
    store,
    seal: () => seal,
    reserve: async (_ctx, operation) => void reserved.push(`for a request ${operation}`),
    keep: async (tenant, operation, leaseMs) =>
      void reserved.push(`${tenant} ${operation} ${leaseMs >= SETTINGS.maxAgeMs}`),
    release: async (tenant, operation) => void released.push(`${tenant} ${operation}`),
    audit: { append: (entry) => void entries.push(entry) },
    count: () => {},
    clock: { time: () => Date.now() },
    ...change,
  });
  return { desk, store, reserved, released, entries };
}

const bodyOf = ({ body }: LocalResponse) => JSON.parse(body.toString()) as Record<string, unknown>;
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (reason) {
    if (reason instanceof GatewayError) return reason.code;
    throw reason;
  }
  return 'none';
};

test('what is left is reserved, sealed and told of; nothing of it can be read in the store, no credential is kept', async () => {
  const { desk, store, reserved, entries } = world();
  const accepted = await desk.take(asking());
  const { id, status } = bodyOf(accepted);
  assert.deepEqual([accepted.status, status, reserved], [202, 'queued', ['for a request 0-op', 'acme 0-op true']]);
  const headers = new Map(accepted.headers);
  assert.deepEqual(
    [headers.get('location'), headers.get('preference-applied')],
    [`/v1/jobs/${String(id)}`, 'respond-async'],
  );
  const job = await store.get(String(id));
  assert.ok(job !== null && !job.request.includes('private'));
  const kept = readRequest(seal.open(job.id, job.request));
  assert.deepEqual(kept.headers, [
    ['x-request-type', 'nightly'],
    ['x-request-id', 'shown-1'],
  ]);
  assert.deepEqual(
    [kept.path, Buffer.from(kept.body, 'base64').toString()],
    ['/v1/chat/completions', '{"prompt":"private"}'],
  );
  assert.ok(!JSON.stringify(kept).includes('secret'));
  assert.deepEqual(
    entries.map(({ facts }) => [facts['action'], facts['tenant']]),
    [['job.queued', 'acme']],
  );
});

test('a stream, a refusal of the limits, or no room: nothing is kept, and a reservation is given back', async () => {
  assert.equal(await codeOf(world().desk.take(asking('acme', true))), 'invalid_value');
  const reserve = (): Promise<void> => Promise.reject(new GatewayError('rate_limit_exceeded', 'No.'));
  const poor = world({ reserve });
  assert.equal(await codeOf(poor.desk.take(asking())), 'rate_limit_exceeded');
  assert.equal((await poor.store.counts()).queued, 0);
  const { desk, released } = world();
  for (const _ of [1, 2]) await desk.take(asking());
  assert.equal(await codeOf(desk.take(asking())), 'jobs_full');
  assert.deepEqual(released, ['acme 0-op']);
});

test('a job is its tenant’s alone; one that waits is cancelled and costs nothing; one that is over is not', async () => {
  const { desk, released, entries } = world();
  const id = String(bodyOf(await desk.take(asking()))['id']);
  for (const ask of [desk.show(who('globex'), id), desk.cancel(who('globex'), id), desk.show(who('acme'), 'job_x')])
    assert.equal(await codeOf(ask), 'job_not_found');
  assert.equal(bodyOf(await desk.show(who('acme'), id))['status'], 'queued');
  const over = bodyOf(await desk.cancel(who('acme'), id));
  assert.equal(over['status'], 'cancelled');
  assert.ok(Math.abs(Number(over['expires_at']) - Date.now() / 1000 - 5) <= 2, 'kept for as long as answers are');
  assert.deepEqual(released, ['acme 0-op']);
  assert.equal(await codeOf(desk.cancel(who('acme'), id)), 'job_over');
  assert.equal(entries.at(-1)?.facts['action'], 'job.cancelled');
});

test('an answer is shown as it came; with `once`, once', async () => {
  for (const once of [false, true]) {
    const { desk, store } = world({ settings: () => ({ ...SETTINGS, once }) });
    const id = String(bodyOf(await desk.take(asking()))['id']);
    await store.claim('h', 1000, 1000);
    const answer = seal.seal(id, JSON.stringify({ status: 400, headers: { 'x-a': 'b' }, body: '{"error":{}}' }));
    await store.finish(id, 'h', { state: 'completed', answer, keepMs: 60_000 });
    const shown = bodyOf(await desk.show(who('acme'), id));
    assert.deepEqual(shown['response'], { status_code: 400, headers: { 'x-a': 'b' }, body: { error: {} } });
    assert.equal(await codeOf(desk.show(who('acme'), id)), once ? 'job_not_found' : 'none');
  }
});

test('an answer that was kept under another key is gone', async () => {
  const { desk, store } = world();
  const id = String(bodyOf(await desk.take(asking()))['id']);
  await store.claim('h', 1000, 1000);
  await store.finish(id, 'h', { state: 'completed', answer: seal.seal(id, '{}'), keepMs: 60_000 });
  const other = world({ store, seal: () => createJobSeal(new Uint8Array(32).fill(2)) });
  assert.equal(await codeOf(other.desk.show(who('acme'), id)), 'job_not_found');
});

test('without the section there are no jobs; without the store they are out of reach', async () => {
  const closed = world({ settings: () => null });
  assert.equal(closed.desk.isOpen(), false);
  assert.equal(await codeOf(closed.desk.show(who('acme'), 'job_1')), 'unknown_endpoint');
  const gone = new MemoryJobStore({ clock: { time: () => 0 } });
  gone.add = () => Promise.reject(new StoreUnavailable('gone'));
  const { desk, released } = world({ store: gone });
  assert.equal(await codeOf(desk.take(asking())), 'store_unavailable');
  await setImmediate();
  assert.deepEqual(released, ['acme 0-op']);
});

test('what is reserved is kept for a job that is there alone, and a store that does not keep it refuses no job', async () => {
  const order: string[] = [];
  const store = new MemoryJobStore({ clock: { time: () => Date.now() } });
  const add = store.add.bind(store);
  store.add = (...asked) => (order.push('add'), add(...asked));
  const reserve = async (): Promise<void> => void order.push('reserve');
  const keep = (): Promise<void> => (order.push('keep'), Promise.reject(new StoreUnavailable('gone')));
  const { desk } = world({ store, reserve, keep });
  assert.equal((await desk.take(asking())).status, 202);
  assert.deepEqual(order, ['reserve', 'add', 'keep', 'keep', 'keep']);
  const id = String(bodyOf(await world({ store }).desk.take(asking()))['id']);
  const release = (): Promise<void> => Promise.reject(new StoreUnavailable('gone'));
  const cancelled = await world({ store, release }).desk.cancel(who('acme'), id);
  assert.equal(bodyOf(cancelled)['status'], 'cancelled');
  assert.deepEqual(await store.owed(1000), [{ tenant: 'acme', operation: '0-op' }], 'the store remembers');
});

test('a store that took a job and could not say so: its client is told no, so the job is withdrawn before its quota is', async () => {
  const store = new MemoryJobStore({ clock: { time: () => Date.now() } });
  const add = store.add.bind(store);
  store.add = async (...asked) => {
    await add(...asked);
    throw new StoreUnavailable('reply lost');
  };
  const { desk, released } = world({ store });
  assert.equal(await codeOf(desk.take(asking())), 'store_unavailable');
  await setImmediate();
  assert.deepEqual([await store.claim('h', 1000, 1000), released], [null, ['acme 0-op']]);
  // Begun already: who runs it hears of it, and gives back what was reserved.
  store.cancel = async () => 'running';
  await codeOf(desk.take(asking()));
  await setImmediate();
  assert.deepEqual(released, ['acme 0-op']);
});

test('a job that no room could ever be made for is not told to come back', async () => {
  const small = { ...SETTINGS, bounds: { ...SETTINGS.bounds, bytes: 10 } };
  const { desk, reserved } = world({ settings: () => small });
  assert.equal(await codeOf(desk.take(asking())), 'request_too_large');
  assert.deepEqual(reserved, []);
});

test('what says how a request is served is kept with it, also a header that only a rule reads', async () => {
  const { desk, store } = world();
  const ctx = asking();
  const kept = ['x-request-class', 'x-request-priority', 'x-team', 'x-session-id', 'traceparent'];
  const other = ['x-api-key', 'x-forwarded-for', 'x-envoy-retry-on', 'prefer', 'content-length', 'host', ':path'];
  const headers = new HeaderList([...kept, ...other].map((name) => [name, 'v'] as const));
  const id = String(bodyOf(await desk.take({ ...ctx, head: { ...ctx.head, headers } }))['id']);
  const request = readRequest(seal.open(id, (await store.get(id))?.request ?? ''));
  assert.deepEqual(
    request.headers.map(([name]) => name),
    [...kept, 'x-request-id'],
  );
});
