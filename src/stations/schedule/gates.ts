import type { Concurrency } from '../../core/deployment-limits.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { RateWish } from '../../core/ports/rate-shares.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import { type FleetRate, Gate, type GateBounds, type Rate, type RateUnit } from './gate.ts';

export interface GatesOptions {
  readonly workers: number;
  readonly workerIndex: number;
  readonly metrics: Pick<Metrics, 'slots' | 'rateShare'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Are rates shared out by a store? Else each worker has its part of them. */
  readonly sharesRates: boolean;
  /** The part of a deployment's endpoints that is well, 0..1. */
  readonly aliveOf: (deployment: Deployment) => number;
}

/** What the one who shares rates out sees of them. */
export interface RateSource {
  /** All rates of the configurations, each once, with what is wanted of it. Looking begins a new count, and sets new bounds. */
  wishes(...configs: readonly Pick<Snapshot, 'generation' | 'models'>[]): readonly RateWish[];
  /** New shares, in the order of the wishes. */
  grant(shares: readonly number[]): void;
}

/** How quickly an old demand is forgotten. */
const MEMORY_MS = 1000;

/** The part of `total` that worker `index` of `workers` gets: all parts together are `total`. */
export function shareOf(total: number, workers: number, index: number): number {
  return Math.floor(total / workers) + (index < total % workers ? 1 : 0);
}

/** Requests at once, over all workers, with that part of the endpoints; at least 1. */
export function slotsOf({ limit, perInstance }: Concurrency, endpoints: number, alive: number): number {
  if (perInstance === null) return limit;
  return Math.max(1, Math.floor(perInstance.slots * Math.round(endpoints * alive) * perInstance.safety + 1e-9));
}

/**
 * A gate for each deployment that has a bound, kept over reloads of the configuration; the newest generation that asked sets
 * its bounds. Each worker gets at least one slot, so that a limit below the number of workers is exceeded rather than a
 * worker starved.
 */
export class Gates implements RateSource {
  readonly #options: GatesOptions;
  readonly #gates = new Map<
    string,
    { readonly gate: Gate; generation: number; deployment: Deployment; alive: number }
  >();
  readonly #listeners = new Set<(gate: Gate) => void>();
  readonly #demands = new Map<string, number>();
  #asked: readonly { readonly gate: Gate; readonly unit: RateUnit }[] = [];
  #lookedAt: number | null = null;

  constructor(options: GatesOptions) {
    this.#options = options;
  }

  /** Called when there may be room at a gate. */
  onRoom(listener: (gate: Gate) => void): void {
    this.#listeners.add(listener);
  }

  /** Null for a deployment without a bound: it always has room. */
  of(deployment: Deployment, generation: number): Gate | null {
    const known = this.#gates.get(deployment.id);
    if (known !== undefined && known.generation >= generation) return known.gate;
    const { concurrency, rates } = deployment;
    if (concurrency === null && (rates ?? null) === null) {
      if (known === undefined) return null;
      this.#gates.delete(deployment.id);
      // Who still waits there may go.
      known.gate.change({ slots: null, tokens: null, requests: null });
      return null;
    }
    const alive = this.#options.aliveOf(deployment);
    const gate = known?.gate ?? this.#make(deployment);
    this.#gates.set(deployment.id, { gate, generation, deployment, alive });
    gate.change(this.#boundsOf(deployment, alive));
    return gate;
  }

  /** Endpoints come and go: bounds by instance follow them. */
  refresh(): void {
    for (const known of this.#gates.values()) {
      const alive = this.#options.aliveOf(known.deployment);
      if (alive === known.alive) continue;
      known.alive = alive;
      known.gate.change(this.#boundsOf(known.deployment, alive));
    }
  }

  wishes(...configs: readonly Pick<Snapshot, 'generation' | 'models'>[]): readonly RateWish[] {
    const now = this.#options.clock.now();
    const passed = now - (this.#lookedAt ?? now);
    this.#lookedAt = now;
    const asked: { gate: Gate; unit: RateUnit }[] = [];
    const wishes: RateWish[] = [];
    for (const gate of this.#all(configs)) {
      for (const [unit, rate] of gate.rates()) {
        asked.push({ gate, unit });
        wishes.push(this.#wishOf(rate, passed));
      }
    }
    this.#asked = asked;
    return wishes;
  }

  /** All gates of the configurations, with their bounds of now: who waits need not wait for a new request to bring them. */
  #all(configs: readonly Pick<Snapshot, 'generation' | 'models'>[]): ReadonlySet<Gate> {
    const gates = new Set<Gate>();
    for (const { models, generation } of configs) {
      for (const deployment of [...models.values()].flatMap(({ deployments }) => deployments)) {
        const gate = this.of(deployment, generation);
        if (gate !== null) gates.add(gate);
      }
    }
    return gates;
  }

  grant(shares: readonly number[]): void {
    for (const [at, { gate, unit }] of this.#asked.entries()) {
      const share = shares[at];
      if (share === undefined) continue;
      gate.grant(unit, share);
      this.#options.metrics.rateShare(gate.id, unit, share);
    }
  }

  #wishOf(rate: Rate, passed: number): RateWish {
    const { fleet, share, asked } = rate;
    const before = this.#demands.get(fleet.name) ?? 0;
    const fresh = passed > 0 ? (asked * 1000) / passed : before;
    const demand = before + (1 - Math.exp(-passed / MEMORY_MS)) * (fresh - before);
    rate.asked = 0;
    this.#demands.set(fleet.name, demand);
    return { name: fleet.name, rate: fleet.rate, demand, held: share };
  }

  #make({ id, model }: Deployment): Gate {
    return new Gate({
      id,
      model,
      now: () => this.#options.clock.now(),
      onRoom: (gate) => {
        for (const listener of this.#listeners) listener(gate);
      },
      onRunning: (running) => this.#options.metrics.slots(id, running),
    });
  }

  #boundsOf(deployment: Deployment, alive: number): GateBounds {
    const { id, concurrency, rates, backend } = deployment;
    const { workers, workerIndex } = this.#options;
    const slots =
      concurrency === null
        ? null
        : Math.max(1, shareOf(slotsOf(concurrency, (backend.endpoints ?? []).length, alive), workers, workerIndex));
    const rateOf = (unit: RateUnit, rate: number | null): FleetRate | null =>
      rate === null || rates === null || rates === undefined
        ? null
        : {
            name: `${id} ${unit}`,
            rate,
            burst: (rate * rates.burstMs) / 1000,
            initial: this.#options.sharesRates ? 0 : rate / workers,
          };
    return {
      slots,
      tokens: rateOf('tokens', rates?.tokensPerSecond ?? null),
      requests: rateOf('requests', rates?.requestsPerSecond ?? null),
    };
  }
}
