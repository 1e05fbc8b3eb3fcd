import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrived, RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import { GatewayError } from '../core/error.ts';
import { Trail } from '../core/trail.ts';
import { createLabelBound } from './bounded-labels.ts';
import { createMetrics } from './metrics.ts';

type Seen = Partial<RequestContext> & Arrived;

function context(model: string, route = 'r1'): Seen {
  const trail = new Trail();
  trail.note('route', 1500, 'routed', 'because');
  const config = { models: new Map([['known', {}]]), aliases: new Map([['alias', 'known']]) };
  const principal = { tenant: 'tenant-canary', subject: 'subject-canary' };
  return {
    endpoint: 'chat',
    trail,
    config,
    principal,
    request: { model },
    decision: { route: { id: route } },
  } as unknown as Seen;
}

function ending(over: object = {}): Ending {
  return {
    kind: 'complete',
    status: 200,
    usage: { prompt: 10, cached: 4, completion: 5, reasoning: 0, source: 'upstream' },
    firstTokenMs: 120,
    totalMs: 2000,
    attempts: [
      { attempt: 1, backend: 'b1', model: 'known', outcome: 'failed_over' },
      { attempt: 2, backend: 'b2', model: 'known', outcome: 'served' },
    ],
    events: [
      { model: 'known', backend: 'b2', currency: 'USD', chargedTo: 'tenant', cost: 70, tenant: 'tenant-canary' },
    ],
    ...over,
  } as unknown as Ending;
}

test('a finished request shows in every series it belongs to', async (t) => {
  const metrics = createMetrics({ labelValues: 10 });
  t.after(metrics.close);
  metrics.request(context('alias'), ending());
  metrics.request(
    context('made up'),
    ending({
      kind: 'failed',
      status: 404,
      error: new GatewayError('model_not_found', 'x'),
      attempts: [],
      events: [],
      firstTokenMs: null,
    }),
  );
  metrics.request(context('known'), ending({ kind: 'cut', by: 'client', status: 0 }));
  const text = await metrics.exposition();
  for (const line of [
    'tokenlat_requests_total{route="r1",model="known",backend="b2",status="200",code="ok"} 1',
    'tokenlat_requests_total{route="r1",model="unknown",backend="none",status="404",code="model_not_found"} 1',
    'tokenlat_requests_total{route="r1",model="known",backend="b2",status="0",code="cut_client"} 1',
    'tokenlat_attempts_total{model="known",backend="b1",outcome="failed_over"} 2',
    'tokenlat_tokens_total{model="known",backend="b2",type="cached"} 8',
    'tokenlat_cost_micro_units_total{model="known",backend="b2",currency="USD",charged_to="tenant"} 140',
    'gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_request_model="known",gen_ai_token_type="input"} 20',
    'gen_ai_server_request_duration_seconds_sum{gen_ai_operation_name="chat",gen_ai_request_model="known"} 4',
    'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_request_model="known"} 2',
    'tokenlat_station_seconds_count{station="route"} 3',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
  assert.ok(!text.includes('canary') && !text.includes('made up'));
});

test('the other figures of the port', async (t) => {
  const metrics = createMetrics({ labelValues: 10 });
  t.after(metrics.close);
  metrics.streams('request', 1);
  metrics.streams('request', 1);
  metrics.streams('request', -1);
  metrics.anomaly('late_settlement');
  metrics.storeState('up');
  metrics.quotaDenied('tokens_per_minute');
  metrics.slots('m@b', 3);
  metrics.queue('m', 'batch', 2);
  metrics.waited('interactive', 300);
  metrics.queueRefused('m', 'queue_full');
  metrics.rateShare('m@b', 'tokens', 12.5);
  const text = await metrics.exposition();
  for (const line of [
    'tokenlat_ext_proc_streams{level="request"} 1',
    'tokenlat_anomalies_total{kind="late_settlement"} 1',
    'tokenlat_store_up 1',
    'tokenlat_quota_denied_total{limit="tokens_per_minute"} 1',
    'tokenlat_deployment_running{deployment="m@b"} 3',
    'tokenlat_queue_length{model="m",priority="batch"} 2',
    'tokenlat_queue_wait_seconds_sum{priority="interactive"} 0.3',
    'tokenlat_queue_refused_total{model="m",reason="queue_full"} 1',
    'tokenlat_rate_share{deployment="m@b",unit="tokens"} 12.5',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
  assert.match(text, /tokenlat_event_loop_delay_seconds\{quantile="0\.99"\} [\d.e-]+\n/);
});

test('ten thousand model names make no more series than the cap', async (t) => {
  const metrics = createMetrics({ labelValues: 20 });
  t.after(metrics.close);
  for (let i = 0; i < 10_000; i++) {
    const attempts = [{ attempt: 1, backend: 'b', model: `model-${i}`, outcome: 'served' }];
    metrics.request(context(`model-${i}`, `route-${i}`), ending({ attempts, events: [] }));
    metrics.quotaDenied(`limit-${i}`);
    metrics.anomaly(`kind-${i}`);
    metrics.slots(`deployment-${i}`, 1);
    metrics.queueRefused(`model-${i}`, 'queue_full');
  }
  const text = await metrics.exposition();
  const count = (name: string): number => text.split('\n').filter((line) => line.startsWith(`${name}{`)).length;
  assert.equal(count('tokenlat_tokens_total') / 3, 21);
  for (const name of [
    'tokenlat_requests_total',
    'tokenlat_attempts_total',
    'tokenlat_quota_denied_total',
    'tokenlat_anomalies_total',
    'tokenlat_deployment_running',
    'tokenlat_queue_refused_total',
  ]) {
    assert.equal(count(name), 21, name);
  }
  assert.ok(text.includes('model="other"'));
});

test('a bounded label keeps what it knows', () => {
  const bound = createLabelBound(2);
  assert.deepEqual(['a', 'b', 'c', 'a'].map(bound), ['a', 'b', 'other', 'a']);
  assert.equal(createLabelBound(1)('x'.repeat(500)).length, 128);
});
