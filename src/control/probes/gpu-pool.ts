import type { Place } from '../../core/decision.ts';
import { addressOf } from '../../core/endpoint.ts';
import type { Finding } from '../../core/finding.ts';
import { isOfEndpoints } from '../../core/probes.ts';
import { placesOf } from '../../core/places.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import type { GpuVerdict } from './gpu-judge.ts';
import type { ProbeDesk } from './probe.ts';

export interface GpuPoolOptions extends ProbeDesk {
  readonly config: () => Pick<Snapshot, 'models'>;
  readonly incarnationOf: (place: Place) => string;
}

interface State {
  readonly verdict: GpuVerdict;
  readonly until: number;
}

interface Ranked extends State {
  /** More than one in a pool: its figures are of all endpoints together. */
  readonly incarnations: readonly string[];
  readonly panicShare: number;
  readonly wasOut: boolean;
}

/** Held back for its GPU, but not wholly: others are worse, or as many as may be are out. */
const SPARED = 0.1;
const THROTTLED = 0.5;

/**
 * What the GPUs of all backends mean for the deployments on them. A whole rack may get hot at once: of the deployments of a
 * model (endpoints, in a pool) no more than the panic share are left out, the worst ones, and those that are out already before others.
 */
export class GpuPool {
  readonly #options: GpuPoolOptions;
  readonly #states = new Map<string, State>();

  constructor(options: GpuPoolOptions) {
    this.#options = options;
  }

  /** Null: nothing is known of them any more. `address`: of one endpoint of a pool; null = of all of the backend. */
  report(backend: string, state: State | null, address: string | null = null): void {
    const name = nameOf(backend, address);
    if (state === null) this.#states.delete(name);
    else this.#states.set(name, state);
    for (const { deployments } of this.#options.config().models.values())
      if (deployments.some((each) => each.backend.name === backend)) this.#apply(deployments.flatMap(unitsOf));
  }

  #apply(units: readonly Unit[]): void {
    const { findings } = this.#options;
    const ranked = units.flatMap((each) => this.#rank(each)).toSorted(worstFirst);
    let out = 0;
    for (const { incarnations, verdict, until, panicShare } of ranked) {
      const mayGo = verdict.out !== null && out + 1 <= panicShare * units.length;
      if (mayGo) out += 1;
      const finding = findingOf(verdict, mayGo, until);
      for (const each of incarnations) findings.set(each, 'gpu', finding);
    }
  }

  #rank({ name, places, panicShare }: Unit): readonly Ranked[] {
    const { findings, clock, incarnationOf } = this.#options;
    const state = this.#states.get(name);
    const now = clock.now();
    const incarnations = places.map(incarnationOf);
    if (state === undefined || state.until <= now) {
      for (const each of incarnations) findings.set(each, 'gpu', null);
      return [];
    }
    const wasOut = findings.get(incarnations[0] ?? '', 'gpu', now)?.factor === 0;
    return [{ ...state, incarnations, panicShare, wasOut }];
  }
}

/** What has GPUs of its own: a deployment, or one of its endpoints in a pool whose figures come from each endpoint. */
interface Unit {
  readonly name: string;
  readonly places: readonly Place[];
  readonly panicShare: number;
}

function unitsOf(deployment: Deployment): readonly Unit[] {
  const { backend } = deployment;
  const gpu = backend.probes?.gpu ?? null;
  const panicShare = gpu?.panicShare ?? 0;
  const places = placesOf(deployment);
  if (gpu === null || !isOfEndpoints(gpu)) return [{ name: nameOf(backend.name, null), places, panicShare }];
  return places.map((place) => ({
    name: nameOf(backend.name, place.endpoint === undefined ? null : addressOf(place.endpoint)),
    places: [place],
    panicShare,
  }));
}

const nameOf = (backend: string, address: string | null): string => `${backend} ${address ?? ''}`;

function findingOf({ out, throttled, detail }: GpuVerdict, mayGo: boolean, until: number): Finding | null {
  if (out !== null) return { factor: mayGo ? 0 : SPARED, reason: out, detail, until };
  return throttled ? { factor: THROTTLED, reason: 'throttled', detail, until } : null;
}

function worstFirst(a: Ranked, b: Ranked): number {
  const isFault = ({ verdict }: Ranked): number => Number(verdict.out === 'gpu_fault');
  return isFault(b) - isFault(a) || Number(b.wasOut) - Number(a.wasOut) || b.verdict.severity - a.verdict.severity;
}
