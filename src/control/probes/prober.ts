import type { Clock } from '../../core/ports/clock.ts';
import type { ProbeMetrics } from '../../core/ports/probe-metrics.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { Probe } from './probe.ts';

/** `free`: only what costs no money, for nobody knows who else looks. */
export type ProberMode = 'all' | 'free' | 'none';

export interface ProberOptions<Config> {
  readonly config: () => Config;
  readonly make: (config: Config) => readonly Probe[];
  readonly clock: Pick<Clock, 'now'>;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly figures: Pick<ProbeMetrics, 'looked' | 'forget'>;
}

export interface Prober {
  /** Looks at what is due. */
  readonly tick: (mode: ProberMode) => void;
  /** Was everything looked at since it began? */
  readonly isSettled: () => boolean;
  /** Every look that is under way is over. */
  readonly idle: () => Promise<void>;
}

interface Entry {
  readonly probe: Probe;
  dueAt: number;
  looked: boolean;
  running: Promise<void> | null;
  /** Not wanted any more; its last look may still be under way. */
  gone: boolean;
}

/** A fifth more or less, so that looks of many backends do not come at once. */
const JITTER = 0.2;
/** Within such a time a new prober begins with all of them. */
const START_MS = 500;

/** Runs probes, each at its own pace and never twice at once, and follows the configuration. */
export function createProber<Config = Snapshot>(options: ProberOptions<Config>): Prober {
  const { config, make, clock, random, figures } = options;
  let entries: Entry[] = [];
  let made: Config | null = null;

  function follow(): void {
    const current = config();
    if (current === made) return;
    made = current;
    const old = new Map(entries.map((entry) => [entry.probe.key, entry]));
    const now = clock.now();
    entries = make(current).map((probe) => {
      const kept = old.get(probe.key);
      old.delete(probe.key);
      const dueAt = now + random() * Math.min(START_MS, probe.intervalMs);
      return kept ?? { probe, dueAt, looked: false, running: null, gone: false };
    });
    const stillThere = new Set(entries.map(({ probe: { backend, kind } }) => `${kind} ${backend}`));
    for (const entry of old.values()) {
      entry.gone = true;
      // One that goes on under other rules begins with what was found so far.
      if (!stillThere.has(`${entry.probe.kind} ${entry.probe.backend}`)) entry.probe.forget();
    }
  }

  async function look(entry: Entry): Promise<void> {
    const { probe } = entry;
    const startedAt = clock.now();
    entry.dueAt = startedAt + probe.intervalMs * (1 - JITTER + 2 * JITTER * random());
    const up = await probe.look();
    entry.looked = true;
    if (entry.gone) return;
    if (up !== null) figures.looked(probe.backend, probe.kind, up, (clock.now() - startedAt) / 1000);
  }

  function stop(): void {
    if (made === null) return;
    for (const entry of entries) entry.gone = true;
    entries = [];
    made = null;
    figures.forget();
  }

  return {
    tick(mode) {
      if (mode === 'none') {
        stop();
        return;
      }
      follow();
      const now = clock.now();
      for (const entry of entries) {
        if (entry.running !== null || now < entry.dueAt || (entry.probe.isPaid && mode !== 'all')) continue;
        entry.running = look(entry).finally(() => (entry.running = null));
      }
    },
    isSettled: () => made !== null && entries.every(({ looked }) => looked),
    idle: async () => {
      await Promise.all(entries.flatMap(({ running }) => (running === null ? [] : [running])));
    },
  };
}
