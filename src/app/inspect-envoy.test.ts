import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../core/snapshot.ts';
import { inspectEnvoy } from './inspect-envoy.ts';

test('an Envoy that does not answer is told with the reason of the system', async () => {
  await assert.rejects(inspectEnvoy({} as Snapshot, 'http://127.0.0.1:2'), {
    name: 'StartupError',
    message: "Envoy's admin does not answer at http://127.0.0.1:2 (ECONNREFUSED): give its address with --admin",
  });
});
