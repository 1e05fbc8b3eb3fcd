import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationId } from '../../core/ids.ts';
import { type Jobs, SETTLED_MS } from '../../core/job.ts';
import { systemClock } from '../../core/ports/clock.ts';
import type { Principal } from '../../core/principal.ts';
import { MemoryJobStore } from '../../store/memory/job-store.ts';
import { type KeptAnswer, readRequest, writeRequest } from './job-content.ts';
import { NotSent } from './run-job.ts';
import { runJobs, type RunJobsOptions } from './run-jobs.ts';
import { createJobSeal } from './seal-job.ts';

const seal = createJobSeal(new Uint8Array(32).fill(7));
const rules: Jobs = {
  key: new Uint8Array(32),
  bounds: { count: 100, perTenant: 100, bytes: 1e6 },
  maxAgeMs: 60_000,
  keepMs: 60_000,
  once: false,
  concurrency: 2,
  attempts: 2,
  gateway: 'http://gateway',
};
const ID = `job_${'0'.repeat(32)}`;
const who = { tenant: 'acme', subject: 'ann', scopes: new Set(['a']), claims: { x: 1 } } as unknown as Principal;
const OK: KeptAnswer = { status: 200, headers: {}, body: '{}' };

async function world(
  t: { after: (end: () => unknown) => void },
  send: RunJobsOptions['send'],
  forMs = 60_000,
  change: (store: MemoryJobStore) => void = () => {},
  leaseMs = 3000,
) {
  let aheadMs = 0;
  const store = new MemoryJobStore({ clock: { time: () => Date.now() + aheadMs } });
  change(store);
  const outcomes: string[] = [];
  const released: string[] = [];
  const hastened: string[] = [];
  const request = seal.seal(ID, writeRequest({ path: '/v1/chat/completions', headers: [], body: 'e30=', who }));
  const operation = 'op-1' as OperationId;
  await store.add(
    { id: ID, tenant: 'acme', operation, createdAt: Date.now(), expiresAt: Date.now() + forMs, request },
    rules.bounds,
  );
  const run = runJobs({
    settings: () => rules,
    store,
    seal: () => seal,
    send,
    release: async (_tenant, released_) => void released.push(released_),
    hasten: async (_tenant, operation_) => void hastened.push(operation_),
    newOperation: () => 'op-2' as OperationId,
    holder: 'h',
    count: (outcome) => void outcomes.push(outcome),
    log: { debug: () => {}, warn: () => {} },
    clock: systemClock,
    everyMs: 5,
    leaseMs,
  });
  t.after(() => run.close(0));
  const until = async (state: string): Promise<void> => {
    for (let n = 0; n < 2000 && (await store.get(ID))?.state !== state; n += 1) await sleep(5);
    assert.equal((await store.get(ID))?.state, state);
  };
  const paid = async (): Promise<readonly string[]> => {
    for (let n = 0; n < 600 && released.length === 0; n += 1) await sleep(5);
    return released;
  };
  return { store, outcomes, released, hastened, paid, run, until, later: (ms: number) => (aheadMs += ms) };
}

test('a job is sent with its token, and its answer is kept under the key', async (t) => {
  const { store, until, hastened } = await world(t, async (gateway, request, token) => {
    assert.deepEqual([gateway, request.path, seal.idOf(token)], ['http://gateway', '/v1/chat/completions', ID]);
    return OK;
  });
  await until('completed');
  const answer = (await store.get(ID))?.answer ?? '';
  assert.deepEqual(JSON.parse(seal.open(ID, answer)), OK);
  assert.deepEqual([hastened, await store.owed(1)], [['op-1'], []], 'who served it settles it, or its lease ends soon');
});

test('what finds no room waits, and takes another operation', async (t) => {
  const { store, outcomes } = await world(t, async () => ({ ...OK, status: 429, headers: { 'retry-after': '60' } }));
  for (let n = 0; n < 400 && outcomes.length === 0; n += 1) await sleep(5);
  const job = await store.get(ID);
  assert.deepEqual([job?.state, job?.operation, job?.attempts, outcomes.join()], ['queued', 'op-2', 0, 'put_back']);
});

/** Six jobs of a model with room for one, the last of another model: who was served when, of all but the last, and how often was asked. */
async function runFull(): Promise<{ readonly served: string; readonly asked: number; readonly took: number }> {
  const store = new MemoryJobStore({ clock: { time: () => Date.now() } });
  const [served, asked]: [string[], string[]] = [[], []];
  let isBusy = false;
  const FULL: KeptAnswer = {
    status: 429,
    headers: { 'retry-after': '16' },
    body: '{"error":{"code":"deployment_saturated"}}',
  };
  const run = runJobs({
    settings: () => ({ ...rules, concurrency: 4 }),
    store,
    seal: () => seal,
    send: async (_gateway, { body, model }) => {
      asked.push(body);
      if (model === 'small') return OK;
      if (isBusy) return FULL;
      isBusy = true;
      await sleep(100);
      isBusy = false;
      served.push(body);
      return OK;
    },
    release: async () => {},
    hasten: async () => {},
    newOperation: () => 'op-2' as OperationId,
    holder: 'h',
    count: () => {},
    log: { debug: () => {}, warn: () => {} },
    clock: systemClock,
    everyMs: 5,
  });
  const names = Array.from({ length: 6 }, (_, at) => `job_${String(at).padStart(32, '0')}`);
  const began = Date.now();
  for (const [at, id] of names.entries()) {
    const request = seal.seal(
      id,
      writeRequest({ path: '/', headers: [], body: id, model: at === 5 ? 'small' : 'm', who }),
    );
    const [createdAt, expiresAt] = [began - 1000 + at, began + 60_000];
    await store.add(
      { id, tenant: 'acme', operation: 'op-1' as OperationId, createdAt, expiresAt, request },
      rules.bounds,
    );
  }
  while (served.length < 5 && Date.now() - began < 15_000) await sleep(5);
  const took = Date.now() - began;
  await run.close(1000);
  assert.deepEqual(served.toSorted(), names.slice(0, 5));
  assert.equal(asked.indexOf(names[5] ?? ''), asked.lastIndexOf(names[5] ?? ''), 'another model is not held up');
  return {
    served: served.map((id) => names.indexOf(id)).join(' '),
    asked: asked.filter((id) => id !== names[5]).length,
    took,
  };
}

test('a model that is full is asked by one job, and those that wait get their turn in order, as soon as there is room', async () => {
  // Who looks when goes by the clock: a machine that stands still for a moment puts them out of order.
  const rounds: Awaited<ReturnType<typeof runFull>>[] = [];
  const isGood = (round: (typeof rounds)[number]): boolean =>
    round.served === '0 1 2 3 4' && round.took < 6000 && round.asked <= 30;
  while (rounds.length < 3 && !rounds.some(isGood)) rounds.push(await runFull());
  assert.ok(rounds.some(isGood), JSON.stringify(rounds));
});

test('one that is too old, or was begun too often, gives its reservation back', async (t) => {
  const old = await world(t, async () => OK, -1);
  await old.until('expired');
  assert.deepEqual(await old.paid(), ['op-1']);
});

test('what its client wants no more is broken off, what a worker leaves is put back', async (t) => {
  const hang: RunJobsOptions['send'] = (_gateway, _request, _token, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const cancelled = await world(t, hang);
  await cancelled.until('running');
  assert.equal(await cancelled.store.cancel(ID, 'acme', 1000), 'running');
  await cancelled.until('cancelled');
  assert.deepEqual(await cancelled.paid(), ['op-1']);
  const left = await world(t, hang);
  await left.until('running');
  await left.run.close(0);
  const job = await left.store.get(ID);
  assert.deepEqual([job?.state, job?.operation, job?.attempts], ['queued', 'op-1', 0]);
});

const answered = (status: number, source = 'gateway'): KeptAnswer => ({
  ...OK,
  status,
  headers: { 'retry-after': '1', 'x-error-source': source },
});
const some = async (outcomes: readonly string[]): Promise<void> => {
  for (let n = 0; n < 1000 && outcomes.length === 0; n += 1) await sleep(5);
};

test('what was reserved is given back after a run without room, should its server be gone, by whoever is left', async (t) => {
  const { store, outcomes, released, run, later } = await world(t, async () => answered(503));
  await some(outcomes);
  // The holder dies, too: it gives nothing back.
  await run.close(0);
  assert.deepEqual([released, await store.owed(1)], [[], []], 'who served it may be settling it');
  later(SETTLED_MS);
  assert.deepEqual(await store.owed(50), [{ tenant: 'acme', operation: 'op-1' }]);
  assert.deepEqual(await store.owed(50), [], 'somebody does');
  later(50);
  const [again] = await store.owed(50);
  assert.ok(again !== undefined, 'and when that one is gone another one');
  await store.paid(again);
  later(50);
  assert.deepEqual(await store.owed(50), []);
});

test('what cannot be given back now is tried again, and nothing is where another one holds the job', async (t) => {
  const { store, released, paid, later, until } = await world(
    t,
    async () => answered(429),
    60_000,
    (kept) => {
      const owed = kept.owed.bind(kept);
      let fails = 2;
      kept.owed = async (forMs) => {
        if (fails-- > 0) throw new Error('gone');
        return await owed(forMs);
      };
    },
  );
  await until('queued');
  for (let n = 0; n < 600 && (await store.get(ID))?.operation === 'op-1'; n += 1) await sleep(5);
  later(SETTLED_MS);
  assert.equal((await paid())[0], 'op-1');
  assert.equal(released.filter((operation) => operation === 'op-1').length, 1);
  const lost = await world(
    t,
    async () => answered(503),
    60_000,
    (kept) => (kept.putBack = async () => 'lost'),
  );
  await sleep(50);
  await lost.run.close(0);
  assert.deepEqual([lost.released, lost.outcomes, await lost.store.owed(1)], [[], [], []]);
});

test('a gateway that cannot be reached has begun no job, and is not asked for the next one at once', async (t) => {
  let sent = 0;
  const { store, outcomes } = await world(t, () => ((sent += 1), Promise.reject(new NotSent('refused'))));
  for (const n of [1, 2, 3, 4, 5]) {
    const id = `job_${String(n).repeat(32)}`;
    const request = seal.seal(id, writeRequest({ path: '/', headers: [], body: '', who }));
    const at = { createdAt: Date.now(), expiresAt: Date.now() + 60_000 };
    await store.add({ id, tenant: 'acme', operation: 'op' as OperationId, ...at, request }, rules.bounds);
  }
  await some(outcomes);
  await sleep(100);
  assert.ok(sent <= rules.concurrency, String(sent));
  const job = await store.get(ID);
  assert.deepEqual([job?.attempts, job?.operation], [0, 'op-1']);
});

test('a backend that cannot serve has been asked: the job waits longer, and the last answer is the job’s', async (t) => {
  const waits: number[] = [];
  const soon = (store: MemoryJobStore): void => {
    const putBack = store.putBack.bind(store);
    store.putBack = (id, holder, how) => (waits.push(how.waitMs), putBack(id, holder, { ...how, waitMs: 0 }));
  };
  const { store, until } = await world(t, async () => answered(503, 'model_service'), 60_000, soon);
  await until('completed');
  assert.deepEqual(waits, [30_000]);
  const answer = JSON.parse(seal.open(ID, (await store.get(ID))?.answer ?? '')) as KeptAnswer;
  assert.equal(answer.status, 503);
});

test('one that is cancelled and then finds no room is not run again', async (t) => {
  let tell: (answer: KeptAnswer) => void = () => {};
  const told = new Promise<KeptAnswer>((resolve) => (tell = resolve));
  const { store, until, paid, later } = await world(t, () => told);
  await until('running');
  await store.cancel(ID, 'acme', 1000);
  tell(answered(429));
  await until('cancelled');
  later(SETTLED_MS);
  assert.deepEqual(await paid(), ['op-1']);
});

test('a store that stands still for a moment after a run without room: the next run is under another operation all the same', async (t) => {
  let fails = 1;
  const hiccup = (store: MemoryJobStore): void => {
    const putBack = store.putBack.bind(store);
    store.putBack = async (...asked) => {
      if (fails-- > 0) throw new Error('gone');
      return await putBack(...asked);
    };
  };
  const { store, outcomes } = await world(t, async () => answered(429), 60_000, hiccup);
  await some(outcomes);
  const job = await store.get(ID);
  assert.deepEqual([job?.state, job?.operation, job?.attempts], ['queued', 'op-2', 0]);
});

test('a run of which the store hears nothing for as long as a lease is broken off, and each run is its own holder', async (t) => {
  const holders: string[] = [];
  const mute = (store: MemoryJobStore): void => {
    const claim = store.claim.bind(store);
    store.claim = async (holder, ...rest) => {
      const job = await claim(holder, ...rest);
      if (job !== null) holders.push(holder);
      return job;
    };
    store.renew = () => new Promise(() => {});
  };
  let aborted = 0;
  const { until, outcomes } = await world(
    t,
    (_gateway, _request, _token, signal) =>
      new Promise((resolve, reject) => {
        if (aborted > 0) resolve(OK);
        signal.addEventListener('abort', () => ((aborted += 1), reject(new Error('aborted'))));
      }),
    60_000,
    mute,
    1000,
  );
  await until('completed');
  assert.deepEqual([aborted >= 1, new Set(holders).size, outcomes], [true, holders.length, ['completed']]);
});

test('the seal holds: another key, job or byte opens nothing, and a token is of one job', () => {
  const sealed = seal.seal(ID, 'secret');
  assert.equal(seal.open(ID, sealed), 'secret');
  assert.throws(() => seal.open(`${ID}x`, sealed));
  assert.throws(() => createJobSeal(new Uint8Array(32)).open(ID, sealed));
  const bytes = Buffer.from(sealed, 'base64');
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  assert.throws(() => seal.open(ID, bytes.toString('base64')));
  const token = seal.tokenOf(ID);
  assert.equal(seal.idOf(token), ID);
  for (const wrong of ['', 'tlj.', token.replace('job_0', 'job_1'), `${token.slice(0, -1)}_`])
    if (wrong !== token) assert.equal(seal.idOf(wrong), null, wrong);
  const read = readRequest(writeRequest({ path: '/', headers: [], body: '', who }));
  assert.deepEqual([read.who.scopes, { ...read.who.claims }], [new Set(['a']), { x: 1 }]);
});
