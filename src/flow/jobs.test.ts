import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import type { LocalResponse } from '../core/http.ts';
import type { JobDesk } from '../core/ports/job-desk.ts';
import type { RequestExchange } from '../core/exchange.ts';
import { bench, type BenchOptions, code, headOf, openRequest, responded, settled } from './flow-kit.test.ts';

const BODY = Buffer.from('{}');
const ACCEPTED: LocalResponse = { status: 202, headers: [], body: Buffer.from('{"object":"job"}'), details: 'x' };

function world(desk: Partial<JobDesk> | null, options: BenchOptions = {}) {
  const asked: string[] = [];
  const made = bench(options);
  const jobs: JobDesk = {
    isOpen: () => true,
    take: async ({ principal }) => (asked.push(`take ${principal.tenant}`), ACCEPTED),
    show: async ({ tenant }, id) => (asked.push(`show ${tenant} ${id}`), ACCEPTED),
    cancel: async ({ tenant }, id) => (asked.push(`cancel ${tenant} ${id}`), ACCEPTED),
    ...desk,
  };
  const { flow } = openRequest({ ...made, options: { ...made.options, jobs: desk === null ? undefined : jobs } });
  return { made, asked, flow };
}

const ask = async (
  flow: RequestExchange,
  headers: Parameters<typeof headOf>[0],
  over: Parameters<typeof headOf>[1] = {},
) => {
  const early = await flow.onRequestHead(headOf(headers, over), false);
  return early.kind === 'hold' ? await flow.onRequestBody(BODY, true) : early;
};

test('who would rather come again is answered at once: no station decides, nothing is settled', async () => {
  for (const prefer of ['respond-async', 'wait=5, Respond-Async; x=1']) {
    const { made, asked, flow } = world({});
    assert.equal(responded(await ask(flow, [['prefer', prefer]])).status, 202);
    await settled();
    assert.deepEqual(asked, ['take acme']);
    assert.ok(
      made.calls.every((call) => !call.endsWith('.run')),
      made.calls.join(),
    );
    assert.deepEqual([made.endings.length, made.options.live.size], [1, 0]);
  }
});

test('without jobs, or another preference, it is served as usual', async () => {
  for (const [desk, prefer] of [
    [null, 'respond-async'],
    [{ isOpen: () => false }, 'respond-async'],
    [{}, 'wait=5'],
    [{}, 'respond-asynchronously'],
  ] as const) {
    const { asked, flow } = world(desk);
    assert.equal((await ask(flow, [['prefer', prefer]])).kind, 'forward');
    assert.deepEqual(asked, []);
  }
});

test('a job is looked at and cancelled by its path', async () => {
  const { asked, flow } = world({});
  const reply = await flow.onRequestHead(headOf([], { method: 'GET', path: '/v1/jobs/job_1?x=1' }), true);
  assert.equal(responded(reply).status, 202);
  const other = world({});
  await other.flow.onRequestHead(headOf([], { method: 'DELETE', path: '/v1/jobs/job_1' }), true);
  assert.deepEqual([...asked, ...other.asked], ['show acme job_1', 'cancel acme job_1']);
  const wrong = world({});
  assert.equal(
    code(await wrong.flow.onRequestHead(headOf([], { path: '/v1/jobs/job_1' }), true)),
    'method_not_allowed',
  );
  const none = world(null);
  const get = headOf([], { method: 'GET', path: '/v1/jobs/job_1' });
  assert.equal(code(await none.flow.onRequestHead(get, true)), 'unknown_endpoint');
});

test('what the desk refuses is an answer as others are', async () => {
  const take = (): Promise<LocalResponse> => Promise.reject(new GatewayError('jobs_full', 'Too many.'));
  const { flow } = world({ take });
  assert.equal(code(await ask(flow, [['prefer', 'respond-async']])), 'jobs_full');
});

test('a job that runs is booked under its own operation, and is no job again', async () => {
  let operation = '';
  const principal = {
    subject: 'ann',
    tenant: 'acme',
    models: ['*'],
    scopes: new Set(),
    job: { id: 'job_1', operation: '0-op' },
  };
  const { asked, flow } = world(
    {},
    {
      behave: {
        'authenticate.head': () => ({ principal }),
        'schedule.run': (ctx) => (
          (operation = ctx.operation),
          { admission: { kind: 'held', limits: [], reservedTokens: 1 } }
        ),
        'enhance.run': () => ({ prompt: { verdict: 'clean' } }),
      },
    },
  );
  assert.equal((await ask(flow, [['prefer', 'respond-async']])).kind, 'forward');
  assert.deepEqual([operation, asked.length], ['0-op', 0]);
});
