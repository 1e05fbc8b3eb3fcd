import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createProbeMetrics } from './probe-metrics.ts';

test('looks and factors; who looks no more shows no looks', async () => {
  const registry = new Registry();
  const figures = createProbeMetrics({ registry, labelValues: 2 });
  figures.looked('a', 'service', true, 0.004);
  figures.looked('a', 'service', false, 0.9);
  figures.looked('b', 'gpu', true, 0.004);
  figures.looked('c', 'gpu', true, 0.004);
  figures.factor('m@a', 'service', 0);
  const text = await registry.metrics();
  assert.match(text, /^tokenlat_probe_up\{backend="a",kind="service"\} 0$/m);
  assert.match(text, /^tokenlat_probe_up\{backend="other",kind="gpu"\} 1$/m);
  assert.match(text, /^tokenlat_probe_seconds_bucket\{le="0.005",backend="a",kind="service"\} 1$/m);
  assert.match(text, /^tokenlat_probe_seconds_count\{backend="a",kind="service"\} 2$/m);
  assert.match(text, /^tokenlat_target_factor\{deployment="m@a",source="service"\} 0$/m);
  figures.forget();
  assert.doesNotMatch(await registry.metrics(), /^tokenlat_probe_up\{/m);
});
