import type { BudgetMetrics, BudgetStateStore, PendingAlert } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { Channel } from '../../core/snapshot.ts';
import type { SendAlert } from './send-webhook.ts';

export interface DeliverAlertsOptions {
  readonly state: Pick<BudgetStateStore, 'pending' | 'delivered'>;
  readonly channels: () => ReadonlyMap<string, Channel>;
  readonly send: SendAlert;
  readonly clock: Clock;
  readonly log: Log;
  readonly figures: BudgetMetrics;
  /** Numbers in [0, 1) that spread tries out. */
  readonly random?: () => number;
  /** An alert that nobody took is given up after this long. */
  readonly patienceMs?: number;
}

/** Brings alerts to their channels. */
export interface AlertDelivery {
  /** Begins every delivery that is due and not under way. Throws `StoreUnavailable`. */
  readonly round: () => Promise<void>;
  /** Resolves when nothing is under way. */
  readonly idle: () => Promise<void>;
}

interface Tries {
  count: number;
  /** On the monotonic clock. */
  nextAt: number;
  busy: boolean;
}

const AT_ONCE = 8;
const READ = 200;
const MOST_TRIES = 5000;
const FIRST_MS = 1000;
const LONGEST_MS = 300_000;

/** Doubles from a second to five minutes; the second half of each wait is by chance. */
export function backOff(tries: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(20, tries - 1));
  return full / 2 + (full / 2) * random;
}

/**
 * Delivers what is pending, at least once: an alert leaves the list when its channel took it, so another leader goes on
 * where this one stopped, and receivers know a repetition by its id. When the next try is due is remembered here alone.
 */
export function createAlertDelivery(options: DeliverAlertsOptions): AlertDelivery {
  const { state, channels, send, clock, log, figures, random = Math.random, patienceMs = 86_400_000 } = options;
  const tries = new Map<string, Tries>();
  const underWay = new Set<Promise<void>>();

  async function settle({ alert, channel }: PendingAlert, outcome: 'delivered' | 'given_up'): Promise<void> {
    figures.delivery(channel, outcome);
    await state.delivered(alert.id, channel);
    tries.delete(nameOf({ alert, channel }));
  }

  async function attempt(pending: PendingAlert, own: Tries): Promise<void> {
    const { alert, channel } = pending;
    try {
      const target = channels().get(channel);
      if (target === undefined) throw new Error('there is no such channel in the configuration');
      await send(target, alert);
      await settle(pending, 'delivered');
    } catch (error) {
      own.count += 1;
      own.nextAt = clock.now() + backOff(own.count, random());
      figures.delivery(channel, 'failed');
      const reason = error instanceof Error ? error.message : 'unknown';
      log.warn('an alert was not taken', { alert: alert.id, channel, tries: own.count, reason });
    } finally {
      own.busy = false;
    }
  }

  function begin(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) =>
        log.debug('a delivery was not noted', { error: error instanceof Error ? error : undefined }),
      )
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  return {
    async round() {
      const all = await state.pending(READ);
      // Those that another leader delivered would stay for ever.
      if (tries.size > MOST_TRIES) for (const [name, { busy }] of tries) if (!busy) tries.delete(name);
      for (const pending of all) {
        if (underWay.size >= AT_ONCE) return;
        const own = tries.get(nameOf(pending)) ?? { count: 0, nextAt: 0, busy: false };
        tries.set(nameOf(pending), own);
        if (own.busy || clock.now() < own.nextAt) continue;
        own.busy = true;
        if (clock.time() - pending.alert.time < patienceMs) {
          begin(attempt(pending, own));
          continue;
        }
        log.error('an alert was given up: its channel never took it', {
          alert: pending.alert.id,
          channel: pending.channel,
        });
        begin(settle(pending, 'given_up').finally(() => (own.busy = false)));
      }
    },
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

function nameOf({ alert, channel }: PendingAlert): string {
  return `${alert.id} ${channel}`;
}
