import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeploymentRecord } from '../../core/directory.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import type { Stage } from '../../core/stage.ts';
import { createMemoryDirectoryStore } from '../../store/memory/directory-store.ts';
import { createStageView, keepStages } from './keep-stages.ts';

const noop = (): void => {};
const log: Log = { debug: noop, info: noop, warn: noop, error: noop };
const clock = { now: () => 0, time: () => 1 };

/** Replicas with files of their own over one store. */
function world(t: { after: (end: () => void) => void }) {
  const store = createMemoryDirectoryStore({ clock });
  const known = new Map<string, DeploymentRecord>();
  const entries: AuditEntry[] = [];
  const anomalies: string[] = [];
  store.watch((change) => {
    if (change !== 'all') void store.get('deployment', change.id).then((found) => found && known.set(change.id, found));
  });
  const replica = (stage: Stage, upstreamModel = 'v1') => {
    const deployment = { id: 'm@b', upstreamModel, stage } as Deployment;
    let models = new Map([['m', { deployments: [deployment] }]]) as unknown as Snapshot['models'];
    const decided = (id: string): DeploymentRecord | null => known.get(id) ?? null;
    const kept = keepStages({
      config: () => ({ models }),
      store,
      decided,
      isRead: () => true,
      audit: { append: (entry) => void entries.push(entry) },
      log,
      metrics: { anomaly: (kind) => void anomalies.push(kind) },
      clock,
      everyMs: 1e9,
    });
    t.after(kept.close);
    return {
      kept,
      stage: () => createStageView(decided).of(deployment).stage,
      edit(next: Stage) {
        models = new Map([['m', { deployments: [{ ...deployment, stage: next }] }]]) as unknown as Snapshot['models'];
      },
    };
  };
  const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 5));
  return { store, entries, anomalies, replica, settle };
}

test('what the configuration says is written down once, and its changes are in the audit once', async (t) => {
  const { store, entries, replica, settle } = world(t);
  const replicas = [replica('gray'), replica('gray')];
  const all = async (): Promise<void> => {
    await Promise.all(replicas.map(({ kept }) => kept.look()));
    await settle();
  };
  await all();
  assert.equal((await store.get('deployment', 'm@b'))?.stage, 'gray');
  assert.equal(entries.length, 0);
  for (const one of replicas) one.edit('full');
  await all();
  await all();
  assert.equal((await store.get('deployment', 'm@b'))?.version, 2);
  assert.deepEqual(entries, [
    {
      kind: 'system',
      time: 1,
      facts: {
        action: 'deployment.stage',
        by: 'configuration',
        deployment: 'm@b',
        upstream_model: 'v1',
        before: 'gray',
        stage: 'full',
      },
    },
  ]);
});

test('a file that leads back is told of, and changes nothing; after a restart as well', async (t) => {
  const { store, anomalies, replica, settle } = world(t);
  await replica('full').kept.look();
  await settle();
  const late = replica('gray');
  await late.kept.look();
  await late.kept.look();
  assert.equal(late.stage(), 'full');
  assert.deepEqual(anomalies, ['stage_refused']);
  assert.deepEqual(late.kept.problems(), ['stage of m@b: stays full, the file says gray']);
  assert.equal((await store.get('deployment', 'm@b'))?.version, 1);
});

test('another model behind the name begins anew', async (t) => {
  const { store, entries, replica, settle } = world(t);
  await replica('retired').kept.look();
  await settle();
  const next = replica('gray', 'v2');
  await next.kept.look();
  const stored = await store.get('deployment', 'm@b');
  assert.deepEqual([stored?.stage, stored?.upstreamModel, entries.length], ['gray', 'v2', 1]);
});
