import type { OperationId } from '../../core/ids.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { OnExpired, QuotaStore } from '../../core/ports/quota-store.ts';
import type { LedgerSettings } from '../ledger-settings.ts';
import { entryFields, serializeEntry, spendEntryOf } from '../spend-entry.ts';
import { assertAmounts, assertWhole } from '../whole-number.ts';
import { readAdmission, readStates } from './admission-reply.ts';
import { encodeKeyPart } from './keys.ts';
import type { Keys } from './keys.ts';
import { createLimitEnds } from './limit-ends.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';
import type { Swept, TenantIndex } from './tenant-index.ts';
import { createWindowTerms, type WindowTerms } from './window-terms.ts';

/** The store keeps ledgers and the index of tenants for this long after their last entry. */
export const LEDGER_TTL_MS = 400 * 86_400_000;
/** A record outlives its lease by at least this, so that a sweeper that was away still finds it. */
const SWEEPER_AWAY_MS = 86_400_000;
const REFUSAL_MS = 10_000;
const TENANTS_AT_ONCE = 100;
/** Of these, so many side by side: requests have to get in between. */
const SWEPT_AT_ONCE = 10;
/** One script's work: other tenants wait for it. */
const LEASES_AT_ONCE = 50;
/** Times that one call is asked again: a clock was wrong, or leases that are over stood in the way. */
const ROUNDS = 8;

export interface RedisQuotaStoreOptions {
  readonly run: RunScript;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
  readonly tenants: TenantIndex;
  readonly ledger: LedgerSettings;
  readonly clock: Clock;
  readonly onExpired?: OnExpired | undefined;
}

/** `QuotaStore` in Redis: each call is one script on one slot, idempotent by the operation's record. */
export function createRedisQuotaStore(options: RedisQuotaStoreOptions): QuotaStore {
  const { run, keys, call, tenants, ledger, clock } = options;
  const outliveMs = ledger.keepMs + SWEEPER_AWAY_MS;
  const windows = createWindowTerms({ clock });
  const endOf = createLimitEnds({ keys, windows });

  return {
    admit: createAdmit({ ...options, windows, outliveMs, endOf }),
    renew: async (tenant, operation, leaseMs) => {
      assertWhole(leaseMs, 'lease');
      const reply = await call(() => {
        tenants.touch(tenant, leaseMs);
        return run(
          'renew',
          [keys.operation(tenant, operation), keys.leases(tenant)],
          [encodeKeyPart(operation), leaseMs, outliveMs],
        );
      });
      return reply === 1;
    },
    settle: async ({ operation, tenant, actual, events }) => {
      assertAmounts(actual);
      const booked: (string | number)[] = [];
      for (const event of events) booked.push(JSON.stringify(event), ...entryFields(spendEntryOf(event, ledger.zone)));
      const reply = await call(() => {
        // Who has a ledger is on the list of tenants, also when nothing was admitted.
        if (events.length > 0) tenants.touch(tenant, ledger.leaseMs);
        return run(
          'settle',
          [keys.operation(tenant, operation), keys.leases(tenant), keys.ledger(tenant)],
          [
            encodeKeyPart(operation),
            actual.requests,
            actual.tokens,
            actual.spend ?? 0,
            ledger.keepMs,
            heldEvents(ledger),
            LEDGER_TTL_MS,
            keys.sums(tenant),
            ...booked,
          ],
        );
      });
      return reply as 'settled' | 'repeated' | 'late';
    },
    sweep: () => sweep(options),
    peek: async (tenant, lines) => {
      if (lines.length === 0) return [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const end = endOf(tenant, lines);
        const reply = String(await call(() => run('peek', [], [], end)));
        if (!windows.learn(reply)) return readStates(reply, 0, lines);
      }
      throw new StoreUnavailable('the clock of Redis does not stand still');
    },
  };
}

function createAdmit({
  windows,
  outliveMs,
  endOf,
  ...options
}: RedisQuotaStoreOptions & {
  readonly windows: WindowTerms;
  readonly outliveMs: number;
  readonly endOf: ReturnType<typeof createLimitEnds>;
}): QuotaStore['admit'] {
  const { run, keys, call, tenants, ledger } = options;
  const expiryOf = (event: LedgerEvent | null): readonly [event: string, entry: string] =>
    event === null ? ['', ''] : [JSON.stringify(event), serializeEntry(spendEntryOf(event, ledger.zone))];
  return async ({ operation, tenant, lines, amounts, leaseMs, onExpiry }) => {
    assertAmounts(amounts);
    assertWhole(leaseMs, 'lease');
    const [event, entry] = expiryOf(onExpiry);
    const { requests, tokens, spend = 0 } = amounts;
    const named = [keys.operation(tenant, operation), keys.leases(tenant)];
    const times = [encodeKeyPart(operation), leaseMs, leaseMs + outliveMs, Math.min(leaseMs, REFUSAL_MS)];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const args = [...times, event, entry, round === ROUNDS ? '1' : '0', requests, tokens, spend];
      const end = endOf(tenant, lines);
      const reply = await call(() => {
        tenants.touch(tenant, leaseMs);
        return run('admit', named, args, end);
      });
      const text = String(reply);
      if (text === 'x') await expire(options, tenant);
      else if (!windows.learn(text)) return readAdmission(text, lines);
    }
    throw new StoreUnavailable('the clock of Redis does not stand still');
  };
}

async function sweep(options: RedisQuotaStoreOptions): Promise<number> {
  const { call, tenants } = options;
  let ended = 0;
  const sweepTenant = async (tenant: string): Promise<Swept> => {
    let [count, nextLease] = [LEASES_AT_ONCE, -1];
    while (count === LEASES_AT_ONCE) {
      [count, nextLease] = await expire(options, tenant);
      ended += count;
    }
    return { tenant, nextLease };
  };
  for (;;) {
    const claimed = await call(() => tenants.claim(TENANTS_AT_ONCE));
    const swept: Swept[] = [];
    // Side by side: what they ask goes out in one write. A failure leaves the others to their claim's end.
    for (let at = 0; at < claimed.length; at += SWEPT_AT_ONCE)
      swept.push(...(await Promise.all(claimed.slice(at, at + SWEPT_AT_ONCE).map(sweepTenant))));
    if (swept.length > 0) await call(() => tenants.rest(swept));
    if (claimed.length < TENANTS_AT_ONCE) return ended;
  }
}

/** Ends some leases of one tenant that are over: how many, and when the next one ends (-1 = none is open). */
async function expire(
  {
    run,
    keys,
    call,
    ledger,
    onExpired,
  }: Pick<RedisQuotaStoreOptions, 'run' | 'keys' | 'call' | 'ledger' | 'onExpired'>,
  tenant: string,
): Promise<[count: number, next: number]> {
  const reply = await call(() =>
    run(
      'expire',
      [keys.leases(tenant), keys.ledger(tenant)],
      [keys.operations(tenant), LEASES_AT_ONCE, ledger.keepMs, heldEvents(ledger), LEDGER_TTL_MS, keys.sums(tenant)],
    ),
  );
  const [count, next, ...ended] = reply as readonly [number, string, ...string[]];
  for (let i = 0; i + 1 < ended.length; i += 2) {
    // Operations are ours, and encode to themselves.
    onExpired?.({ tenant, operation: ended[i] as OperationId, rule: ended[i + 1] === '1' ? 'charge' : 'release' });
  }
  return [count, Number(next)];
}

function heldEvents({ holdEvents, maxEvents }: LedgerSettings): number {
  return Math.max(maxEvents, holdEvents?.() ?? 0);
}
