import type { AuditLog } from '../../core/ports/audit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { EpochLook, EpochStore, KnownEpoch, StateLoss } from '../../core/ports/epoch-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';

/** A loss is noticed within this and one call of the store. */
const LOOK_MS = 250;

export interface WatchStateOptions {
  readonly epochs: Pick<EpochStore, 'look'>;
  /** What was known before this process began, from the audit; null = nothing. */
  readonly remembered: Promise<KnownEpoch | null>;
  /** Where losses and what was done about them are recorded; null where another process of this machine does. */
  readonly audit: Pick<AuditLog, 'append'> | null;
  readonly clock: Pick<Clock, 'time'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  /** 1 while what was lost is neither rebuilt nor accepted. */
  readonly show: (lost: boolean) => void;
  readonly lookMs?: number;
}

export interface WatchedState {
  /** Null: the store holds what it held, as far as is known. */
  readonly loss: () => StateLoss | null;
  /** The state that was there when last looked; null before that. */
  readonly epoch: () => KnownEpoch | null;
  /** Resolves after the first look, or after `deadlineMs`. */
  readonly ready: (deadlineMs: number) => Promise<void>;
  readonly close: () => void;
}

/** Notices in the background when the store has lost what it held: it was emptied, exchanged, or set back to a backup. */
export function watchState(options: WatchStateOptions): WatchedState {
  const { epochs, remembered, log, lookMs = LOOK_MS } = options;
  const tell = createTeller(options);
  let known: KnownEpoch | null = null;
  let loss: StateLoss | null = null;
  let looking = false;
  let closed = false;
  let seen: () => void = () => {};
  const first = new Promise<void>((resolve) => (seen = resolve));

  async function look(): Promise<void> {
    if (looking || closed) return;
    looking = true;
    try {
      known ??= await remembered;
      const found = await epochs.look(known);
      if (closed) return;
      tell(found, { known, loss });
      known = { id: found.id, at: found.at };
      loss = found.loss;
      seen();
    } catch (error) {
      // The store says itself when it is gone; what is known stays.
      log.debug('the state could not be looked at', { error: error instanceof Error ? error : undefined });
    } finally {
      looking = false;
    }
  }

  const timer = setInterval(() => void look(), lookMs);
  timer.unref();
  void look();
  return {
    loss: () => loss,
    epoch: () => known,
    ready: async (deadlineMs) => {
      let patience: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (patience = setTimeout(resolve, deadlineMs)));
      await Promise.race([first, late]);
      clearTimeout(patience);
    },
    close: () => {
      closed = true;
      clearInterval(timer);
    },
  };
}

/** Tells log, metrics and audit of each change once. */
function createTeller({ audit, clock, log, metrics, show }: WatchStateOptions) {
  return (found: EpochLook, before: { readonly known: KnownEpoch | null; readonly loss: StateLoss | null }): void => {
    const { id, loss, answer, steppedBackMs } = found;
    show(loss !== null);
    if (loss !== null && before.loss === null) {
      const facts = {
        loss: loss.kind,
        noticed: iso(loss.at),
        held_up_to: loss.heldUpTo === 0 ? null : iso(loss.heldUpTo),
      };
      metrics.anomaly('state_lost');
      log.error('Redis has lost what it held: `tokenlat cost rebuild`, or `tokenlat cost accept-loss`', facts);
      audit?.append({ kind: 'system', time: clock.time(), facts: { event: 'state_lost', ...facts } });
    } else if (loss === null && steppedBackMs > 0) {
      metrics.anomaly('state_stepped_back');
      log.warn('Redis lost the last moments of what it held, as a crash or a failover may', { ms: steppedBackMs });
    }
    if (before.known === null || before.known.id === id || loss !== null || answer === null) return;
    const { how, by, reason, booked } = answer;
    const event = how === 'rebuilt' ? 'state_rebuilt' : 'state_loss_accepted';
    log.warn('the loss of state was dealt with', { event, by, reason, booked });
    const facts = { event, by, reason, booked, answered: iso(answer.time) };
    audit?.append({ kind: 'admin', time: clock.time(), facts });
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
