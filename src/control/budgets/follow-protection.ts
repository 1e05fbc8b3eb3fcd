import type {
  BudgetMetrics,
  BudgetStateStore,
  BudgetStatus,
  Protection,
  ProtectionView,
} from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log } from '../../core/ports/telemetry.ts';

export interface FollowProtectionOptions {
  readonly state: Pick<BudgetStateStore, 'list' | 'watch'>;
  readonly clock: Pick<Clock, 'time'>;
  readonly log: Log;
  readonly figures: BudgetMetrics;
  /** What was not heard is found after this long. */
  readonly pollMs?: number;
}

/** Who is in cost protection, kept fresh in the background. */
export interface FollowedProtection {
  readonly view: ProtectionView;
  /** Takes up the state now; for tests and the start. Never rejects. */
  readonly refresh: () => Promise<void>;
  readonly close: () => void;
}

type Table = ReadonlyMap<string, readonly Protection[]>;

function tableOf(statuses: readonly BudgetStatus[]): Table {
  const table = new Map<string, Protection[]>();
  for (const { protecting, budget, tenant, businessLine, period, until } of statuses) {
    if (!protecting) continue;
    const own = table.get(tenant) ?? [];
    own.push({ budget, businessLine, period, until });
    table.set(tenant, own);
  }
  // The line's own first: that is what its requests are told.
  for (const own of table.values())
    own.sort((a, b) => Number(a.businessLine === null) - Number(b.businessLine === null));
  return table;
}

/**
 * Follows the state of budgets. While the store is gone the last known state holds, each protection until its period ends.
 */
export function followProtection({
  state,
  clock,
  log,
  figures,
  pollMs = 500,
}: FollowProtectionOptions): FollowedProtection {
  let table: Table = new Map();
  let reading: Promise<void> | null = null;
  let again = false;
  let closed = false;

  async function read(): Promise<void> {
    try {
      const fresh = tableOf(await state.list());
      if (closed) return;
      table = fresh;
      figures.protecting([...fresh.values()].reduce((sum, own) => sum + own.length, 0));
    } catch (error) {
      log.debug('the state of budgets could not be read', { error: error instanceof Error ? error : undefined });
    }
  }

  /** Resolves after a reading that began no earlier than this call. */
  function refresh(): Promise<void> {
    if (reading !== null) {
      again = true;
      return reading;
    }
    const whole = async (): Promise<void> => {
      do {
        again = false;
        await read();
      } while (again);
    };
    reading = whole().finally(() => (reading = null));
    return reading;
  }

  const watching = state.watch(() => void refresh());
  const timer = setInterval(() => {
    if (reading === null) void refresh();
  }, pollMs);
  timer.unref();
  void refresh();

  return {
    view: {
      of(tenant, businessLine) {
        const own = table.get(tenant);
        if (own === undefined) return null;
        const now = clock.time();
        return own.find((each) => now < each.until && (each.businessLine ?? businessLine) === businessLine) ?? null;
      },
    },
    refresh,
    close: () => {
      closed = true;
      watching.close();
      clearInterval(timer);
    },
  };
}
