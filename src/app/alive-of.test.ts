import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment } from '../core/snapshot.ts';
import { Findings } from '../routing/findings.ts';
import { incarnationOf } from '../stations/route/targets.ts';
import { aliveOf } from './alive-of.ts';

test('alive is the part of the endpoints that is well by what looks at each, and all where nobody looks', () => {
  const deployment = { id: 'm@b', backend: { endpoints: [] } } as unknown as Deployment;
  const findings = new Findings();
  const at = incarnationOf({ deployment });
  assert.equal(aliveOf(findings, deployment, 0), 1);
  findings.set(at, 'network', { factor: 0.75, reason: 'network_unreachable', detail: '', until: 100 });
  findings.set(at, 'service', { factor: 0.5, reason: 'service_down', detail: '', until: 50 });
  findings.set(at, 'metrics', { factor: 0.1, reason: 'queue_long', detail: '', until: 100 });
  assert.equal(aliveOf(findings, deployment, 0), 0.5, 'a long queue takes no endpoint away');
  assert.equal(aliveOf(findings, deployment, 60), 0.75);
  assert.equal(aliveOf(findings, deployment, 100), 1);
});

test('of a pool the endpoints that are well count by their weight', () => {
  const endpoints = [
    { host: '10.0.0.1', port: 80, weight: 3 },
    { host: '10.0.0.2', port: 80, weight: 1 },
  ];
  const deployment = { id: 'm@b', backend: { pool: { slowStartMs: 0 }, endpoints } } as unknown as Deployment;
  const findings = new Findings();
  assert.equal(aliveOf(findings, deployment, 0), 1);
  findings.set('m@b/10.0.0.2:80', 'network', { factor: 0, reason: 'network_unreachable', detail: '', until: 100 });
  assert.equal(aliveOf(findings, deployment, 0), 0.75);
});
