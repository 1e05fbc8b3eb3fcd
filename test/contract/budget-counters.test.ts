/** Budgets over the real counters: what requests spend is what budgets see, in memory and in Redis. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchBudgets, type WatchedBudgets } from '../../src/control/budgets/watch-budgets.ts';
import { followDirectory, type FollowedDirectory } from '../../src/control/directory-view/follow-directory.ts';
import type { OperationId } from '../../src/core/ids.ts';
import { microUnits } from '../../src/core/money.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import type { DirectoryView } from '../../src/core/ports/directory-view.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { limitLines } from '../../src/stations/schedule/limit-lines.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import type { Stores } from '../../src/store/stores.ts';
import { startRedis } from '../support/redis-server.ts';
import { recorder } from './quota-harness.ts';
import { LEDGER, openStores } from './redis-harness.ts';

const ZONE = 'Asia/Tokyo';

interface Opened {
  /** One for each replica. */
  readonly stores: readonly Stores[];
  readonly pause: () => void;
  readonly resume: () => void;
  readonly close: () => Promise<void>;
}

const memory = async (): Promise<Opened> => {
  const one = createMemoryStores({ clock: systemClock, ledger: LEDGER });
  return { stores: [one, one, one], pause: () => {}, resume: () => {}, close: async () => {} };
};

const redis = async (): Promise<Opened> => {
  const server = await startRedis();
  const stores = await Promise.all([1, 2, 3].map(() => openStores(server.url, { commandTimeoutMs: 200 })));
  return {
    stores,
    pause: server.pause,
    resume: server.resume,
    close: async () => {
      await Promise.all(stores.map((each) => each.close()));
      await server.stop();
    },
  };
};

const config = {
  tenants: new Map(),
  tenantDefaults: { limits: [] },
  ledger: { zone: ZONE },
  budgets: { alertsAt: [70, 90], channels: new Map([['ops', { name: 'ops' }]]), defaultChannels: ['ops'] },
  models: new Map(),
} as unknown as Snapshot;

const principal = {
  tenant: 'acme',
  subject: 'ann',
  businessLine: 'search',
  limits: [],
  keyId: null,
} as unknown as Principal;

async function within(ms: number, holds: () => boolean): Promise<number> {
  const began = performance.now();
  while (!holds() && performance.now() - began < ms) await sleep(5);
  assert.ok(holds(), `did not come about within ${ms} ms`);
  return performance.now() - began;
}

let operations = 0;

/** One request that really cost this much. */
async function spend({ quota }: Stores, directory: DirectoryView, cost: number): Promise<void> {
  operations += 1;
  const operation = `0-${operations}` as OperationId;
  const lines = limitLines({ config, principal, models: ['m'], directory });
  const amounts = { requests: 1, tokens: 10, spend: 0 };
  const held = await quota.admit({ operation, tenant: 'acme', lines, amounts, leaseMs: 5000, onExpiry: null });
  assert.equal(held.kind, 'held');
  await quota.settle({ operation, tenant: 'acme', actual: { ...amounts, spend: cost }, events: [] });
}

for (const [name, open] of Object.entries({ memory, redis })) {
  describe(name, () => {
    let opened: Opened;
    let replicas: readonly { readonly directory: FollowedDirectory; readonly budgets: WatchedBudgets }[];
    const sent: number[] = [];
    const recorded = recorder();

    before(async () => {
      opened = await open();
      const put = await opened.stores[0]?.directory.put(
        'budget',
        'budget_1',
        {
          id: 'budget_1',
          tenant: 'acme',
          businessLine: 'search',
          period: 'month',
          amount: microUnits(1000),
          currency: 'USD',
          alertsAt: [],
        },
        0,
      );
      assert.equal(put?.kind, 'written');
      replicas = opened.stores.map((stores, at) => {
        const directory = followDirectory({ store: stores.directory, log: recorded.log, metrics: recorded.metrics });
        const budgets = watchBudgets({
          quota: stores.quota,
          state: stores.budgets,
          lease: stores.lease,
          directory,
          config: () => config,
          holder: `replica-${at}`,
          clock: systemClock,
          log: recorded.log,
          metrics: recorded.metrics,
          figures: { alert: () => {}, protecting: () => {}, delivery: () => {} },
          send: async (_channel, { percent }) => void sent.push(percent),
        });
        return { directory, budgets };
      });
      for (const { directory } of replicas) assert.equal(await directory.ready(2000), true);
    });

    after(async () => {
      await Promise.all(replicas.map(({ budgets }) => budgets.close()));
      for (const { directory } of replicas) directory.close();
      await opened.close();
    });

    const everywhere = (on: boolean) => () =>
      replicas.every(({ budgets }) => (budgets.protection.of('acme', 'search') !== null) === on);
    const first = () => {
      const [stores] = opened.stores;
      const [replica] = replicas;
      assert.ok(stores !== undefined && replica !== undefined);
      return { stores, directory: replica.directory.view };
    };

    test('spending is seen at exactly the budget, by every replica within a second, and told of once', async () => {
      const { stores, directory } = first();
      await within(2000, () => replicas.filter(({ budgets }) => budgets.leading()).length === 1);
      for (const cost of [600, 100, 200, 99]) await spend(stores, directory, cost);
      await within(2000, () => sent.length === 2);
      assert.ok(everywhere(false)());
      await spend(stores, directory, 1);
      const took = await within(2000, everywhere(true));
      assert.ok(took < 1000, `${Math.round(took)} ms`);
      await within(2000, () => sent.length === 3);
      assert.deepEqual(
        sent.toSorted((a, b) => a - b),
        [70, 90, 100],
      );
      await sleep(700);
      assert.equal(sent.length, 3);
    });

    test('a budget that is raised ends it everywhere', async () => {
      const { stores } = first();
      const record = await stores.directory.get('budget', 'budget_1');
      assert.ok(record !== null);
      const { kind: _kind, version, createdAt: _created, updatedAt: _updated, ...fields } = record;
      await stores.directory.put('budget', 'budget_1', { ...fields, amount: microUnits(5000) }, version);
      await within(2000, everywhere(false));
      await stores.directory.put('budget', 'budget_1', { ...fields, amount: microUnits(1000) }, version + 1);
      await within(2000, everywhere(true));
    });

    test('when its leader goes another one leads within three seconds, and a store that is gone changes nothing', async () => {
      const leading = () => replicas.filter(({ budgets }) => budgets.leading());
      await leading()[0]?.budgets.close();
      assert.ok((await within(3000, () => leading().length === 1)) < 3000);
      opened.pause();
      await sleep(1500);
      assert.ok(everywhere(true)());
      opened.resume();
      await within(3000, () => leading().length === 1);
      assert.ok(everywhere(true)());
      assert.equal(sent.length, 3);
    });
  });
}
