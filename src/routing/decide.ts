import type { Board } from './board.ts';
import type { Breakers } from './breakers.ts';
import type { LiveTarget } from './live-target.ts';
import { keepApart, order, type Random } from './order.ts';
import type { ScorePolicy } from './policy.ts';
import { type Adjust, look, type Looked, score, type Scored } from './score.ts';
import type { Ask, Target } from './target.ts';

/** Why a target that could have served does not stand in a plan. The list is closed: headers, audit and metrics use it. */
export const EXCLUSIONS = ['circuit_breaker_open', 'cooling_down', 'latency_budget'] as const;
export type Exclusion = (typeof EXCLUSIONS)[number];

/** Why a target stands first. Closed, too. */
export const CHOICES = ['best_score', 'least_loaded', 'only_one', 'probe', 'all_full'] as const;
export type Choice = (typeof CHOICES)[number];

export interface Excluded {
  readonly looked: Looked;
  readonly why: Exclusion;
}

/** Who may serve, best first, and why. */
export interface Plan {
  readonly order: readonly Scored[];
  readonly excluded: readonly Excluded[];
  readonly choice: Choice | null;
}

export interface Question {
  readonly ask: Ask;
  readonly targets: readonly Target[];
  readonly policy: ScorePolicy;
  readonly adjust?: Adjust | null;
  /** Milliseconds of the clock of `board`. */
  readonly now: number;
}

export interface Judges {
  readonly board: Board;
  readonly breakers: Breakers;
  readonly random: Random;
}

/**
 * Orders targets for a request: breakers and limits first, then score and load, then chance among near-equals. Full targets
 * come last rather than not at all: who waits may wait there. Those that a breaker merely holds back stand in where a plan
 * would have too few entries for its tries. An empty order means that nobody may be asked now.
 */
export function decide({ ask, targets, policy, adjust = null, now }: Question, judges: Judges): Plan {
  const { board, breakers, random } = judges;
  const excluded: Excluded[] = [];
  const open: Looked[] = [];
  const spare: Looked[] = [];
  let probe: LiveTarget | null = null;
  for (const target of targets) {
    const looked = look(board.of(target), ask, now);
    const gate = breakers.gate(target, ask.kind, now, random);
    const isOpen = gate === 'open' || gate === 'probe';
    const why = exclusionOf(looked, ask, now) ?? (isOpen ? null : 'circuit_breaker_open');
    if (why !== null) excluded.push({ looked, why });
    if (why === null) open.push(looked);
    else if (why === 'circuit_breaker_open' && gate === 'spare') spare.push(looked);
    if (why === null && gate === 'probe') probe ??= looked.live;
  }
  const ranked = (from: readonly Scored[]): readonly Scored[] => order(from, policy.spread, random);
  const scored = score(open, policy, adjust);
  const free = ranked(scored.filter((one) => !isFull(one)));
  const full = ranked(scored.filter(isFull));
  const usual = probeFirst([...free, ...full], probe);
  const missing = usual.length === 0 ? 0 : Math.max(0, policy.apart - usual.length);
  const standIns = missing === 0 ? [] : ranked(score(spare, policy, adjust)).slice(0, missing);
  const ordered = [...keepApart(usual, policy.apart), ...standIns];
  return { order: ordered, excluded, choice: choiceOf(ordered, { free: free.length, probe, policy }) };
}

function exclusionOf({ live, estimate }: Looked, ask: Ask, now: number): Exclusion | null {
  if (live.busy.restUntil > now) return 'cooling_down';
  const { latencyLimitMs } = ask;
  if (latencyLimitMs !== null && estimate.totalMs !== null && estimate.totalMs > latencyLimitMs)
    return 'latency_budget';
  return null;
}

function isFull({ live, running }: Looked): boolean {
  const { limit } = live.busy;
  return limit !== null && running >= limit;
}

function probeFirst(ordered: readonly Scored[], probe: LiveTarget | null): readonly Scored[] {
  const found = ordered.find(({ live }) => live === probe);
  return found === undefined ? ordered : [found, ...ordered.filter((one) => one !== found)];
}

function choiceOf(
  ordered: readonly Scored[],
  { free, probe, policy }: { readonly free: number; readonly probe: LiveTarget | null; readonly policy: ScorePolicy },
): Choice | null {
  const [first] = ordered;
  if (first === undefined) return null;
  if (first.live === probe) return 'probe';
  if (free === 0) return 'all_full';
  if (ordered.length === 1) return 'only_one';
  const { cost, latency, quality } = policy.weights;
  return cost + latency + quality === 0 ? 'least_loaded' : 'best_score';
}
