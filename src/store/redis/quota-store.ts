import type { LimitLine, LimitState } from '../../core/limit.ts';
import type { AdmitResult, QuotaStore } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { assertAmounts, assertLines, assertWhole } from '../whole-number.ts';
import { encodeKeyPart } from './keys.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';
import type { TenantIndex } from './tenant-index.ts';

/** The store keeps ledgers and the index of tenants for this long after their last entry. */
export const LEDGER_TTL_MS = 400 * 86_400_000;
/** A record outlives its lease by at least this, so that a sweeper that was away still finds it. */
const SWEEPER_AWAY_MS = 86_400_000;
const REFUSAL_MS = 10_000;
const TENANTS_AT_ONCE = 100;
/** One script's work: other tenants wait for it. */
const LEASES_AT_ONCE = 50;

export interface RedisQuotaStoreOptions {
  readonly run: RunScript;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
  readonly tenants: TenantIndex;
  readonly ledger: Pick<Snapshot['ledger'], 'maxEvents' | 'keepMs'>;
}

/** `QuotaStore` in Redis: each call is one script on one slot, idempotent by the operation's record. */
export function createRedisQuotaStore({ run, keys, call, tenants, ledger }: RedisQuotaStoreOptions): QuotaStore {
  const outliveMs = ledger.keepMs + SWEEPER_AWAY_MS;

  return {
    admit: async ({ operation, tenant, lines, amounts, leaseMs, onExpiry }) => {
      assertAmounts(amounts);
      assertLines(lines);
      assertWhole(leaseMs, 'lease');
      const counters = lines.map((line) => keys.counter(tenant, line));
      const terms = lines.flatMap((line) => [windowOf(line), line.unit.charAt(0), amounts[line.unit], line.limit]);
      const event = onExpiry === null ? '' : JSON.stringify(onExpiry);
      const reply = await call(() => {
        tenants.touch(tenant, leaseMs);
        return run(
          'admit',
          [keys.operation(tenant, operation), keys.leases(tenant), ...counters],
          [encodeKeyPart(operation), leaseMs, outliveMs, Math.min(leaseMs, REFUSAL_MS), event, ...terms],
        );
      });
      return readAdmission(String(reply), lines);
    },
    renew: async (tenant, operation, leaseMs) => {
      assertWhole(leaseMs, 'lease');
      const reply = await call(() => {
        tenants.touch(tenant, leaseMs);
        return run('renew', [keys.operation(tenant, operation), keys.leases(tenant)], [operation, leaseMs, outliveMs]);
      });
      return reply === 1;
    },
    settle: async ({ operation, tenant, actual, events }) => {
      assertAmounts(actual);
      const reply = await call(() =>
        run(
          'settle',
          [keys.operation(tenant, operation), keys.leases(tenant), keys.ledger(tenant)],
          [
            encodeKeyPart(operation),
            actual.requests,
            actual.tokens,
            ledger.keepMs,
            ledger.maxEvents,
            LEDGER_TTL_MS,
            ...events.map((event) => JSON.stringify(event)),
          ],
        ),
      );
      return reply as 'settled' | 'repeated' | 'late';
    },
    sweep: () => sweep({ run, keys, call, tenants, ledger }),
    peek: async (tenant, lines) => {
      assertLines(lines);
      if (lines.length === 0) return [];
      const counters = lines.map((line) => keys.counter(tenant, line));
      const terms = lines.flatMap((line) => [windowOf(line), line.limit]);
      return readStates(String(await call(() => run('peek', counters, terms))).split('|'), lines);
    },
  };
}

async function sweep({ run, keys, call, tenants, ledger }: RedisQuotaStoreOptions): Promise<number> {
  let ended = 0;
  for (;;) {
    const claimed = await call(() => tenants.claim(TENANTS_AT_ONCE));
    for (const tenant of claimed) {
      let [count, nextLease] = [LEASES_AT_ONCE, -1];
      while (count === LEASES_AT_ONCE) {
        const reply = await call(() =>
          run(
            'expire',
            [keys.leases(tenant), keys.ledger(tenant)],
            [keys.operations(tenant), LEASES_AT_ONCE, ledger.keepMs, ledger.maxEvents, LEDGER_TTL_MS],
          ),
        );
        const [expired, next] = reply as readonly [number, string];
        [count, nextLease] = [expired, Number(next)];
        ended += count;
      }
      await call(() => tenants.rest(tenant, nextLease));
    }
    if (claimed.length < TENANTS_AT_ONCE) return ended;
  }
}

function windowOf({ window }: LimitLine): string {
  return window.kind === 'sliding' ? String(window.seconds) : window.unit;
}

function readStates(parts: readonly string[], lines: readonly LimitLine[]): LimitState[] {
  return lines.map((line, i) => {
    const [remaining, resetMs] = (parts[i] ?? '').split(',').map(Number);
    if (remaining === undefined || resetMs === undefined) throw new TypeError('a line is missing in the reply');
    return { line, remaining, resetMs };
  });
}

/** `h|<remaining>,<reset>|...` or `d,<line>,<wait>|...`. */
function readAdmission(reply: string, lines: readonly LimitLine[]): AdmitResult {
  const [verdict = '', ...parts] = reply.split('|');
  const limits = readStates(parts, lines);
  if (verdict === 'h') return { kind: 'held', limits };
  const [, index, wait] = verdict.split(',');
  const by = limits[Number(index)];
  if (by === undefined) throw new TypeError('the refusing line is missing in the reply');
  return { kind: 'denied', by, limits, retryAfterMs: Number(wait) };
}
