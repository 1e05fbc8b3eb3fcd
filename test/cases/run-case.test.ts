import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import type { CaseGateway } from './case-gateway.ts';
import { planOf } from './case-plan.ts';
import { loadReports, type Report } from './report.ts';
import { runCase } from './run-case.ts';

const reports = new Map(loadReports().map((report) => [report.id, report]));

function report(id: string): Report {
  const found = reports.get(id);
  assert.ok(found, id);
  return found;
}

/** A gateway that passes everything through: clients talk to the backend itself. */
async function passThrough(mock: MockUpstream, events: readonly Partial<LedgerEvent>[] = []): Promise<CaseGateway> {
  const entries = events.map((event, index) => ({ id: String(index), event: { chargedTo: 'tenant', ...event } }));
  const gateway = {
    origin: mock.url,
    token: async () => 'token-of-the-client',
    log: () => [],
    stores: { ledger: { read: async () => entries } },
    envoyStats: async () => ({}),
  };
  return {
    gateway: gateway as unknown as CaseGateway['gateway'],
    backends: new Map([['A', mock]]),
    redis: null,
    keySet: null,
    close: async () => undefined,
  };
}

async function failuresOf(id: string, events: readonly Partial<LedgerEvent>[] = []): Promise<readonly string[]> {
  const mock = await startMockUpstream();
  try {
    return (await runCase({ report: report(id), env: await passThrough(mock, events), patienceMs: 100 })).failures;
  } finally {
    await mock.close();
  }
}

// What a backend does right by itself must pass, or the interpreter itself is wrong.
for (const id of ['SSE-04', 'SSE-11', 'SO-01', 'JSON-04']) {
  test(`${id} holds where nothing is changed`, async () => assert.deepEqual(await failuresOf(id), []));
}

// Where only a gateway can do it right, none must fail.
const SPOILT: readonly (readonly [id: string, word: RegExp])[] = [
  ['USE-01', /stream_options\.include_usage/],
  ['TOOL-01', /tool_calls\.length/],
  ['TOOL-02', /tool_calls\.length/],
  ['JSON-01', /body\.model/],
  ['ERR-01', /content-type/],
  ['ERR-07', /status eq 400/],
  ['AUTH-02', /status eq 401/],
  ['RL-01', /status_count\.429/],
  ['ENV-01', /body\.model/],
  ['ENV-07', /authorization/],
  ['ENV-10', /open_streams/],
];

for (const [id, word] of SPOILT) {
  test(`${id} fails where nothing is done`, async () => assert.match((await failuresOf(id)).join('\n'), word));
}

function aboutLedger(failures: readonly string[]): readonly string[] {
  return failures.filter((failure) => failure.startsWith('ledger'));
}

test('bookings are looked at', async () => {
  const good = { status: 'complete', promptTokens: 11, completionTokens: 2 } as const;
  assert.deepEqual(aboutLedger(await failuresOf('USE-01', [good])), []);
  assert.equal(aboutLedger(await failuresOf('USE-01', [{ ...good, completionTokens: 3 }])).length, 1);
});

test('a plan names what a case needs, and like cases share one', () => {
  assert.equal(planOf(report('SSE-01')).key, planOf(report('ENV-02')).key);
  assert.notEqual(planOf(report('SSE-01')).key, planOf(report('USE-05')).key);
  const { config, workers } = planOf(report('RL-01'));
  assert.deepEqual(config['tenant_defaults'], { subject_limits: { tokens_per_minute: 100 } });
  assert.equal(workers, 2);
  assert.deepEqual(planOf(report('RT-07')).config['retry'], { retries: 2 });
});

test('a step wants something that nobody knows: the case fails', async () => {
  const mock = await startMockUpstream();
  const { steps, ...rest } = report('SSE-11');
  const odd = { ...rest, steps: steps.map((step) => ({ ...step, before: 'turn off the moon' })) };
  await assert.rejects(runCase({ report: odd, env: await passThrough(mock) }), /unknown first/);
  await mock.close();
});
