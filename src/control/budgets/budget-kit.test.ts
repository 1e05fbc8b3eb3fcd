/** What the tests of this folder make budgets, stores and replicas with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BudgetRecord } from '../../core/directory.ts';
import { type MicroUnits, microUnits } from '../../core/money.ts';
import type {
  BudgetAlert,
  BudgetMetrics,
  BudgetStateStore,
  BudgetStatus,
  PendingAlert,
} from '../../core/ports/budget-state.ts';
import type { LimitLine, LimitState } from '../../core/limit.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { Channel, Snapshot } from '../../core/snapshot.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';

/** Noon of the last day of a month in Berlin. */
export const NOON = Date.parse('2026-03-31T12:00:00+02:00');
export const ZONE = 'Europe/Berlin';

const noop = (): void => {};
export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop };

export function budget(changes: Partial<BudgetRecord> = {}): BudgetRecord {
  return {
    id: 'budget_1',
    tenant: 'acme',
    businessLine: 'search',
    period: 'day',
    amount: microUnits(1000),
    currency: 'USD',
    alertsAt: [],
    version: 1,
    createdAt: 0,
    updatedAt: 0,
    ...changes,
  };
}

export function channel(changes: Partial<Channel> = {}): Channel {
  return {
    name: 'ops',
    url: 'http://127.0.0.1:1/hook',
    secret: Buffer.from('secret'),
    timeoutMs: 1000,
    allowLinkLocal: false,
    ...changes,
  };
}

export function alert(changes: Partial<BudgetAlert> = {}): BudgetAlert {
  return {
    id: 'alert_1',
    budget: 'budget_1',
    tenant: 'acme',
    businessLine: 'search',
    period: '2026-03-31',
    percent: 90,
    amount: microUnits(1000),
    spent: microUnits(950),
    currency: 'USD',
    protecting: false,
    time: NOON,
    ...changes,
  };
}

export function configWith(
  channels: readonly Channel[] = [channel()],
): Pick<Snapshot, 'budgets' | 'ledger' | 'models'> {
  const price = { currency: 'USD', promptPerMtok: 1, cachedPerMtok: 1, completionPerMtok: 1 };
  return {
    budgets: {
      alertsAt: [70, 90],
      channels: new Map(channels.map((each) => [each.name, each])),
      defaultChannels: channels.map(({ name }) => name),
    },
    ledger: { zone: ZONE } as Snapshot['ledger'],
    models: new Map([['m', { deployments: [{ price }] }]]) as unknown as Snapshot['models'],
  };
}

/** Time that stands still, and a store that may be gone, shared by all replicas. */
export class World {
  time = NOON;
  gone = false;
  /** Spent by scope, in the period that is now. */
  readonly spent = new Map<string, { readonly period: string; readonly amount: number }>();
  readonly told: string[] = [];
  readonly clock = { now: () => this.time, time: () => this.time };

  readonly figures: BudgetMetrics = {
    alert: (_tenant, line, percent) => void this.told.push(`${line} ${percent}`),
    protecting: noop,
    delivery: (name, outcome) => void this.told.push(`${name} ${outcome}`),
  };

  spend(scope: string, amount: number, unit: 'day' | 'month' = 'day'): void {
    this.spent.set(`${scope} ${unit}`, { period: periodAt(this.time, unit, ZONE).id, amount });
  }

  /** As a store answers: of a counter that nothing was taken from, it says that all is left and nothing to wait for. */
  peek = async (_tenant: string, lines: readonly LimitLine[]): Promise<readonly LimitState[]> => {
    this.check();
    return lines.map((line) => {
      assert.ok(line.window.kind === 'calendar');
      const { unit } = line.window;
      const { id, end } = periodAt(this.time, unit, ZONE);
      const counter = this.spent.get(`${line.scope} ${unit}`);
      const used = counter?.period === id ? counter.amount : 0;
      return { line, remaining: line.limit - used, resetMs: used === 0 ? 0 : end - this.time };
    });
  };

  check(): void {
    if (this.gone) throw new StoreUnavailable('gone');
  }
}

/** A store of states that is gone with its world. */
export function worldly(world: World, store: BudgetStateStore): BudgetStateStore {
  const guard =
    <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      // A turn, as a network takes one: replicas get in between.
      await new Promise((resolve) => setImmediate(resolve));
      world.check();
      return work(...args);
    };
  return {
    list: guard((): Promise<readonly BudgetStatus[]> => store.list()),
    put: guard((status: BudgetStatus) => store.put(status)),
    drop: guard((id: string) => store.drop(id)),
    raise: guard((each: BudgetAlert, channels: readonly string[], keepMs: number) =>
      store.raise(each, channels, keepMs),
    ),
    pending: guard((count: number): Promise<readonly PendingAlert[]> => store.pending(count)),
    delivered: guard((id: string, name: string) => store.delivered(id, name)),
    watch: (onChange) => store.watch(onChange),
  };
}

export const micro = (amount: number): MicroUnits => microUnits(amount);

test('a world tells what was spent in the period that is now', async () => {
  const world = new World();
  world.spend('line:search', 5);
  const line: LimitLine = { scope: 'line:search', unit: 'spend', window: { kind: 'calendar', unit: 'day' }, limit: 9 };
  assert.deepEqual(await world.peek('acme', [line]), [{ line, remaining: 4, resetMs: 12 * 3_600_000 }]);
  world.time += 12 * 3_600_000;
  assert.deepEqual(await world.peek('acme', [line]), [{ line, remaining: 9, resetMs: 0 }]);
});
