import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createBudgetMetrics } from './budget-metrics.ts';
import { sumMetrics } from './sum-metrics.ts';

test('alerts and deliveries add up over workers, protection is seen by all of them', async () => {
  const workers = [1, 2].map(async () => {
    const registry = new Registry();
    const metrics = createBudgetMetrics({ registry, labelValues: 2 });
    metrics.protecting(3);
    metrics.alert('acme', 'search', 90);
    for (const channel of ['a', 'b', 'c', 'd']) metrics.delivery(channel, 'failed');
    return registry.getMetricsAsJSON();
  });
  const text = await sumMetrics(await Promise.all(workers));
  assert.match(text, /^tokenlat_cost_protection 3$/m);
  assert.match(text, /^tokenlat_budget_alerts_total\{percent="90"\} 2$/m);
  assert.match(text, /^tokenlat_alert_deliveries_total\{channel="a",outcome="failed"\} 2$/m);
  assert.match(text, /^tokenlat_alert_deliveries_total\{channel="other",outcome="failed"\} 4$/m);
  assert.doesNotMatch(text, /acme|search/);
});
