import type { Clock } from '../../core/ports/clock.ts';
import type { LeaderLease } from '../../core/ports/leader.ts';
import type { ProbeMetrics } from '../../core/ports/probe-metrics.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { lead, type Leader } from '../lead.ts';
import { GpuPool } from './gpu-pool.ts';
import { makeProbes, type MakeProbesOptions } from './make-probes.ts';
import { createProber, type ProberMode } from './prober.ts';

export interface WatchProbesOptions extends Omit<MakeProbesOptions, 'gpus'> {
  readonly config: () => Pick<Snapshot, 'backends' | 'models' | 'limits'>;
  readonly lease: LeaderLease;
  /** Names this process among all. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly figures: Pick<ProbeMetrics, 'looked' | 'forget'>;
  readonly random?: () => number;
  /** A leader that is gone is replaced after `ttlMs` and a round at most. */
  readonly ttlMs?: number;
  readonly roundMs?: number;
  readonly tickMs?: number;
  /** Nobody knows who leads for so long: then each looks by itself. */
  readonly unsureMs?: number;
}

export interface WatchedProbes {
  /** Does this process look for all, and has it looked at everything by now? */
  readonly speaks: () => boolean;
  /** Does it look, for all or for itself? */
  readonly isLooking: () => boolean;
  readonly close: () => Promise<void>;
}

/**
 * Takes part in looking at backends: one process of all replicas does it for all, and the others hear of it. While nobody can
 * know who that is (the store is gone), each looks for itself, at what costs no money.
 */
export function watchProbes(options: WatchProbesOptions): WatchedProbes {
  const { config, lease, holder, clock, log, figures, random = Math.random } = options;
  const { ttlMs = 2000, roundMs = 500, tickMs = 100, unsureMs = 3000 } = options;
  const gpus = new GpuPool({ ...options, config });
  const prober = createProber({
    config,
    make: (current) => makeProbes(current, { ...options, gpus }),
    clock,
    random,
    figures,
  });
  let leader: Leader | null = null;
  let unsureSince: number | null = null;
  let mode: ProberMode = 'none';

  function modeNow(): ProberMode {
    // A lease is asked for only where there is something to look at.
    if (leader === null && ![...config().backends.values()].some(({ probes }) => probes !== undefined)) return 'none';
    leader ??= lead({ lease, name: 'probes', holder, work: async () => {}, clock, log, ttlMs, roundMs });
    if (leader.leading()) return 'all';
    unsureSince = leader.unsure() ? (unsureSince ?? clock.now()) : null;
    return unsureSince !== null && clock.now() - unsureSince >= unsureMs ? 'free' : 'none';
  }

  const timer = setInterval(() => {
    mode = modeNow();
    prober.tick(mode);
  }, tickMs);
  timer.unref();

  return {
    speaks: () => mode === 'all' && prober.isSettled(),
    isLooking: () => mode !== 'none',
    close: async () => {
      clearInterval(timer);
      mode = 'none';
      await leader?.close();
      prober.tick('none');
    },
  };
}
