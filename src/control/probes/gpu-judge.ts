import type { OutReason } from '../../core/finding.ts';
import type { GpuReading } from './read-gpu.ts';

export interface GpuLimits {
  readonly maxCelsius: number;
  readonly hysteresis: number;
  /** A minute. */
  readonly pcieReplays: number;
}

/** What is thought of the GPUs of one backend. */
export interface GpuVerdict {
  /** Why nothing new should go there; null = it may. */
  readonly out: OutReason | null;
  readonly throttled: boolean;
  /** Who goes first where not all can: faults before heat, then the hotter. */
  readonly severity: number;
  readonly detail: string;
}

const FAULT_SEVERITY = 1000;
const WINDOW_MS = 60_000;
const MOST_SAMPLES = 256;

/** Follows the readings of one backend: heat has inertia, and of transfers that were repeated the rate counts. */
export class GpuJudge {
  readonly #limits: GpuLimits;
  #hot: boolean;
  readonly #samples: { readonly at: number; readonly replays: number }[] = [];

  /** @param isHot - Was it left out for its heat so far? */
  constructor(limits: GpuLimits, isHot: boolean) {
    this.#limits = limits;
    this.#hot = isHot;
  }

  see({ celsius, xid, replays, throttled }: GpuReading, now: number): GpuVerdict {
    const { maxCelsius, hysteresis, pcieReplays } = this.#limits;
    if (celsius !== null) this.#hot = this.#hot ? celsius > maxCelsius - hysteresis : celsius >= maxCelsius;
    const rate = replays === null ? null : this.#rate(replays, now);
    const isFaulty = xid !== 0 || (rate !== null && rate > pcieReplays);
    const words = [
      celsius === null ? null : `${celsius} C`,
      xid === 0 ? null : `Xid ${xid}`,
      rate === null || rate <= pcieReplays ? null : `${Math.round(rate)} PCIe replays a minute`,
      throttled ? 'throttled' : null,
    ];
    return {
      out: isFaulty ? 'gpu_fault' : this.#hot ? 'overheated' : null,
      throttled,
      severity: (isFaulty ? FAULT_SEVERITY : 0) + (celsius ?? 0),
      detail: words.filter((word) => word !== null).join(', '),
    };
  }

  /** Replays a minute; of a shorter time those there were. */
  #rate(replays: number, now: number): number {
    const samples = this.#samples;
    // The counter begins anew with the driver.
    if (replays < (samples.at(-1)?.replays ?? 0)) samples.length = 0;
    samples.push({ at: now, replays });
    while (samples.length > MOST_SAMPLES || (samples.length > 2 && now - (samples[1]?.at ?? now) >= WINDOW_MS))
      samples.shift();
    const [first] = samples;
    if (first === undefined) return 0;
    return ((replays - first.replays) * WINDOW_MS) / Math.max(WINDOW_MS, now - first.at);
  }
}
