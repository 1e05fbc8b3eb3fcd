import { type BreakerPolicy, DEFAULT_BREAKER } from '../core/breaker-policy.ts';
import { Breaker, type BreakerSign, type BreakerState } from './breaker.ts';
import type { Target } from './target.ts';

export interface BreakerChange {
  readonly incarnation: string;
  readonly id: string;
  readonly kind: string;
  readonly state: BreakerState;
  readonly reason: string;
}

/** A breaker that is not closed. */
export interface OpenBreaker {
  readonly incarnation: string;
  readonly kind: string;
  readonly state: BreakerState;
  /** When the state began. */
  readonly since: number;
  /** Did it open by what was seen here? */
  readonly isOwn: boolean;
}

/** How long what is not used may have an open breaker, milliseconds. */
const NEWS_MS = 600_000;

export interface BreakersOptions {
  /** Read anew each time; null = there are no breakers now. */
  readonly policy?: () => BreakerPolicy | null;
  readonly onChange?: (change: BreakerChange) => void;
}

/** `open` as usual, `probe`: a look is due, `spare`: only if nobody else is left, `shut`: not at all. */
export type Gate = 'open' | 'probe' | 'spare' | 'shut';

/** The breakers of all targets, one for each kind of work. */
export class Breakers {
  readonly #options: BreakersOptions;
  readonly #byTarget = new Map<string, Map<string, Breaker>>();

  constructor(options: BreakersOptions = {}) {
    this.#options = options;
  }

  /** Is anybody to be held back at all? */
  get enabled(): boolean {
    return this.#policy() !== null;
  }

  /**
   * May a request of that kind go there? Every so many-th, where only a share may. @param fair - Its part of all requests when
   * all is well: probes are a share of that.
   */
  gate(
    target: Target,
    kind: string,
    now: number,
    { fair = 1, isPreview = false }: { readonly fair?: number; readonly isPreview?: boolean } = {},
  ): Gate {
    if (this.#policy() === null) return 'open';
    const breaker = this.#byTarget.get(target.incarnation)?.get(kind);
    if (breaker === undefined) return 'open';
    const share = breaker.share(now);
    if (share >= 1) return 'open';
    if (breaker.probeIsDue(now)) return 'probe';
    if (isPreview || !breaker.takesTurn(now, fair)) return share > 0 ? 'spare' : 'shut';
    return breaker.state(now) === 'soft' ? 'probe' : 'open';
  }

  /** How long until somebody may be sent there again, milliseconds. */
  restMs(target: Target, kind: string, now: number): number {
    return this.#byTarget.get(target.incarnation)?.get(kind)?.restMs(now) ?? 0;
  }

  /** A request goes there. */
  picked(target: Target, kind: string, now: number): void {
    this.#byTarget.get(target.incarnation)?.get(kind)?.picked(now);
  }

  /** @param startedAt - When the try began. */
  note(target: Target, kind: string, sign: BreakerSign, now: number, startedAt = now): void {
    if (this.#policy() === null) return;
    this.of(target, kind).note(sign, now, startedAt);
  }

  /** Takes over what another replica saw. Tells whether that changed anything. */
  adopt(incarnation: string, kind: string, state: 'soft' | 'hard', now: number): boolean {
    if (this.#policy() === null) return false;
    return this.#at(incarnation, incarnation.split(' ', 1)[0] ?? '', kind).adopt(state, now);
  }

  release(incarnation: string, kind: string, now: number): void {
    this.#byTarget.get(incarnation)?.get(kind)?.release(now);
  }

  of(target: Target, kind: string): Breaker {
    return this.#at(target.incarnation, target.id, kind);
  }

  #at(incarnation: string, id: string, kind: string): Breaker {
    const kinds = this.#byTarget.get(incarnation) ?? new Map<string, Breaker>();
    this.#byTarget.set(incarnation, kinds);
    const known = kinds.get(kind);
    if (known !== undefined) return known;
    const { onChange } = this.#options;
    const made = new Breaker(
      () => this.#policy() ?? DEFAULT_BREAKER,
      (state, reason) => onChange?.({ incarnation, id, kind, state, reason }),
    );
    kinds.set(kind, made);
    return made;
  }

  #policy(): BreakerPolicy | null {
    const { policy } = this.#options;
    return policy === undefined ? DEFAULT_BREAKER : policy();
  }

  /** Breakers that are not closed. */
  *opened(now: number): Generator<OpenBreaker> {
    for (const [incarnation, kinds] of this.#byTarget)
      for (const [kind, breaker] of kinds) {
        const state = breaker.state(now);
        if (state !== 'closed') yield { incarnation, kind, state, since: breaker.since, isOwn: breaker.isOwn };
      }
  }

  /** Forgets the breakers of incarnations that are gone. What others said of one that was not used yet is kept. */
  keep(isThere: (incarnation: string) => boolean, now: number): void {
    for (const [incarnation, kinds] of this.#byTarget) {
      if (isThere(incarnation)) continue;
      const isNews = (breaker: Breaker): boolean => breaker.state(now) !== 'closed' && now - breaker.since < NEWS_MS;
      if ([...kinds.values()].some(isNews)) continue;
      for (const breaker of kinds.values()) breaker.forget(now);
      this.#byTarget.delete(incarnation);
    }
  }
}
