import { lead, type Leader } from '../control/lead.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { SinkMetrics } from '../core/ports/sink-metrics.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { LedgerSinkSettings, Snapshot } from '../core/snapshot.ts';
import { createLedgerFollower, type LedgerFollower } from '../cost/sink/ledger-follower.ts';
import type { LedgerSink } from '../cost/sink/ledger-sink.ts';
import type { Stores } from '../store/stores.ts';

/** How often the configuration is looked at for a sink that came or went. */
const LOOK_MS = 1000;
const MEASURE_MS = 5000;
const LEASE = 'ledger-sink';

export interface FollowLedgerOptions {
  readonly config: () => Pick<Snapshot, 'ledger'>;
  readonly stores: Pick<Stores, 'ledger' | 'positions' | 'lease'>;
  readonly open: (settings: LedgerSinkSettings) => LedgerSink;
  /** Names this process among all replicas. */
  readonly holder: string;
  readonly figures: SinkMetrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookMs?: number;
  readonly measureMs?: number;
}

export interface FollowedLedger {
  /** What an operator should know; null when nothing is wrong, or another process leads. */
  readonly problem: () => string | null;
  /** Ends what is under way and hands over. */
  readonly close: () => Promise<void>;
}

/**
 * Carries the ledger into the sink that the configuration names, on one process of all replicas. No request ever waits for
 * it. A changed configuration is taken up: another sink begins where its own positions are.
 */
export function followLedger(options: FollowLedgerOptions): FollowedLedger {
  const { config, stores, holder, clock, log, lookMs = LOOK_MS } = options;
  const carrier = new Carrier(options);
  let leader: Leader | null = null;
  let changing: Promise<void> | null = null;

  async function look(): Promise<void> {
    const wanted = config().ledger.sink !== null;
    if (wanted && leader === null) {
      leader = lead({
        lease: stores.lease,
        name: LEASE,
        holder,
        work: () => carrier.work(),
        onLost: () => carrier.stop(),
        clock,
        log,
      });
    } else if (!wanted && leader !== null) {
      const last = leader;
      leader = null;
      await last.close();
    }
  }

  const begin = (): void => {
    changing ??= look().finally(() => (changing = null));
  };
  const timer = setInterval(begin, lookMs);
  timer.unref();
  begin();
  return {
    problem: () => carrier.problem(),
    close: async () => {
      clearInterval(timer);
      await changing;
      await leader?.close();
    },
  };
}

/** The work of the leader: a follower for the present sink, and what there is to report of it. */
class Carrier {
  readonly #options: FollowLedgerOptions;
  #follower: LedgerFollower | null = null;
  /** Of which sink. */
  #settings = '';
  #measuredAt = -Infinity;
  #sent = 0;
  #cut = 0;

  constructor(options: FollowLedgerOptions) {
    this.#options = options;
  }

  async work(): Promise<void> {
    const { config, clock, measureMs = MEASURE_MS } = this.#options;
    const { sink } = config().ledger;
    if (sink === null) return;
    const settings = JSON.stringify(sink);
    if (settings !== this.#settings) await this.stop();
    this.#follower ??= this.#start(sink);
    this.#settings = settings;
    if (clock.now() - this.#measuredAt >= measureMs) {
      this.#measuredAt = clock.now();
      await this.#follower.measure();
    }
    this.#report();
  }

  async stop(): Promise<void> {
    const follower = this.#follower;
    this.#follower = null;
    await follower?.close();
    const { figures } = this.#options;
    figures.state('off');
    figures.lag(0, 0);
  }

  problem(): string | null {
    const state = this.#follower?.state();
    if (state === undefined) return null;
    const { failures, lagEvents, lagMs, cut } = state;
    if (failures > 0) return `is failing: ${lagEvents} events wait, the oldest for ${Math.round(lagMs / 1000)} s`;
    return cut > 0 ? `missed ${cut} events that the ledger dropped` : null;
  }

  #start(sink: LedgerSinkSettings): LedgerFollower {
    const { stores, open, clock, log } = this.#options;
    const follower = createLedgerFollower({
      reader: stores.ledger,
      trimmer: stores.ledger,
      positions: stores.positions,
      sink: open(sink),
      batch: sink.batch,
      pollMs: sink.intervalMs,
      clock,
      log,
    });
    this.#sent = 0;
    this.#cut = 0;
    this.#measuredAt = -Infinity;
    follower.start();
    return follower;
  }

  #report(): void {
    if (this.#follower === null) return;
    const { figures } = this.#options;
    const { delivered, cut, failures, lagEvents, lagMs, lastErrorAt } = this.#follower.state();
    figures.sent(delivered - this.#sent);
    figures.cut(cut - this.#cut);
    this.#sent = delivered;
    this.#cut = cut;
    figures.state(failures > 0 ? 'failing' : 'following');
    figures.lag(lagEvents, lagMs);
    if (lastErrorAt !== null) figures.failedAt(lastErrorAt);
  }
}
