import type { Finding } from '../../core/finding.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import type { GpuVerdict } from './gpu-judge.ts';
import type { ProbeDesk } from './probe.ts';

export interface GpuPoolOptions extends ProbeDesk {
  readonly config: () => Pick<Snapshot, 'models'>;
  readonly incarnationOf: (deployment: Deployment) => string;
}

interface State {
  readonly verdict: GpuVerdict;
  readonly until: number;
}

interface Ranked extends State {
  readonly incarnation: string;
  readonly panicShare: number;
  readonly wasOut: boolean;
}

/** Held back for its GPU, but not wholly: others are worse, or as many as may be are out. */
const SPARED = 0.1;
const THROTTLED = 0.5;

/**
 * What the GPUs of all backends mean for the deployments on them. A whole rack may get hot at once: of the deployments of a
 * model no more than the panic share are left out, the worst ones, and those that are out already before others.
 */
export class GpuPool {
  readonly #options: GpuPoolOptions;
  readonly #states = new Map<string, State>();

  constructor(options: GpuPoolOptions) {
    this.#options = options;
  }

  /** Null: nothing is known of them any more. */
  report(backend: string, state: State | null): void {
    if (state === null) this.#states.delete(backend);
    else this.#states.set(backend, state);
    for (const { deployments } of this.#options.config().models.values())
      if (deployments.some((each) => each.backend.name === backend)) this.#apply(deployments);
  }

  #apply(deployments: readonly Deployment[]): void {
    const { findings } = this.#options;
    const ranked = deployments.flatMap((each) => this.#rank(each)).toSorted(worstFirst);
    let out = 0;
    for (const { incarnation, verdict, until, panicShare } of ranked) {
      const mayGo = verdict.out !== null && out + 1 <= panicShare * deployments.length;
      if (mayGo) out += 1;
      findings.set(incarnation, 'gpu', findingOf(verdict, mayGo, until));
    }
  }

  #rank(deployment: Deployment): readonly Ranked[] {
    const { findings, clock, incarnationOf } = this.#options;
    const { backend } = deployment;
    const state = this.#states.get(backend.name);
    const now = clock.now();
    const incarnation = incarnationOf(deployment);
    if (state === undefined || state.until <= now) {
      findings.set(incarnation, 'gpu', null);
      return [];
    }
    return [
      {
        ...state,
        incarnation,
        panicShare: backend.probes?.gpu?.panicShare ?? 0,
        wasOut: findings.get(incarnation, 'gpu', now)?.factor === 0,
      },
    ];
  }
}

function findingOf({ out, throttled, detail }: GpuVerdict, mayGo: boolean, until: number): Finding | null {
  if (out !== null) return { factor: mayGo ? 0 : SPARED, reason: out, detail, until };
  return throttled ? { factor: THROTTLED, reason: 'throttled', detail, until } : null;
}

function worstFirst(a: Ranked, b: Ranked): number {
  const isFault = ({ verdict }: Ranked): number => Number(verdict.out === 'gpu_fault');
  return isFault(b) - isFault(a) || Number(b.wasOut) - Number(a.wasOut) || b.verdict.severity - a.verdict.severity;
}
