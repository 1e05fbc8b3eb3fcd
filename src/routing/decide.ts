import type { LeftOut } from '../core/decision.ts';
import { isOutReason } from '../core/finding.ts';
import type { ScorePolicy } from '../core/score-policy.ts';
import { type Affinity, chooseWarm, isDearer, type WarmChoice } from './affinity.ts';
import type { Board } from './board.ts';
import type { Breakers, Gate } from './breakers.ts';
import type { LiveTarget } from './live-target.ts';
import { keepApart, order, type Random } from './order.ts';
import { type Adjust, look, type Looked, score, type Scored } from './score.ts';
import type { Ask, Target } from './target.ts';
import type { Warmth } from './warm-keys.ts';

/** Why a target stands first. The list is closed. */
export const CHOICES = [
  'warm',
  'best_score',
  'least_loaded',
  'as_given',
  'only_one',
  'probe',
  'all_full',
  'last_resort',
] as const;
export type Choice = (typeof CHOICES)[number];

/** Whoever is less healthy than this, and got nothing for so long (milliseconds), is asked once. */
const UNSEEN_BELOW = 0.5;
const UNSEEN_MS = 30_000;

export interface Excluded {
  readonly scored: Scored;
  readonly why: LeftOut;
}

/** Who may serve, best first, and why. */
export interface Plan {
  readonly order: readonly Scored[];
  /** Some of these may stand at the end of `order` all the same: better than nobody. */
  readonly excluded: readonly Excluded[];
  readonly choice: Choice | null;
  /** Why another one than usual stands first; null = it is as usual. */
  readonly insteadOf: LeftOut | null;
  /** What being warm did; null = it does not count. */
  readonly affinity: Affinity | null;
}

export interface Question {
  readonly ask: Ask;
  /** In the order of their rank, where `rank` is `given`. */
  readonly targets: readonly Target[];
  /** By score and load, or as given. */
  readonly rank: 'score' | 'given';
  readonly policy: ScorePolicy;
  readonly adjust?: Adjust | null;
  /** What to look for where it may be warm; only where `rank` is `score`. */
  readonly warmth?: Warmth | null;
  /** How many tries there may be: so many entries lie in different failure domains, where there are enough. */
  readonly tries: number;
  /**
   * When everybody is left out: nobody; those that are merely too slow, the fastest first; or, without such, those that a
   * breaker holds back but not wholly, then those that asked for a rest, then those that it holds back wholly, then those
   * that probes found unfit.
   */
  readonly lastResort: 'nobody' | 'late' | 'anybody';
  /** Only to look: takes nobody's turn. */
  readonly isPreview?: boolean;
  /** Milliseconds of the clock of `board`. */
  readonly now: number;
}

export interface Judges {
  readonly board: Board;
  readonly breakers: Breakers;
  readonly random: Random;
}

interface Sorted {
  readonly open: readonly Looked[];
  readonly out: readonly { readonly looked: Looked; readonly why: LeftOut; readonly gate: Gate }[];
  /** Whom a breaker wants looked at. */
  readonly probe: LiveTarget | null;
  /** Who is slow and should be asked again. */
  readonly slow: LiveTarget | null;
}

/**
 * Orders targets for a request: breakers and limits first, then score and load (or the order given), then chance among
 * near-equals. Full targets come last rather than not at all: who waits may wait there. Those that a breaker merely holds
 * back stand in where a plan would have too few entries for its tries. An empty order: nobody may be asked now.
 */
export function decide(question: Question, judges: Judges): Plan {
  const { rank, policy, adjust = null, tries } = question;
  const { open, out, probe: due, slow } = sort(question, judges);
  const ranked = (from: readonly Scored[]): readonly Scored[] =>
    rank === 'given' ? from : order(from, policy.spread, judges.random);
  const scored = score(open, policy, adjust);
  const free = rank === 'given' ? scored : ranked(scored.filter((one) => !isFull(one)));
  const full = rank === 'given' ? [] : ranked(scored.filter(isFull));
  const excluded = excludedOf(out, open, question);
  const spare = excluded.filter((_, at) => out[at]?.why === 'circuit_breaker_open' && out[at]?.gate === 'spare');
  const warm = warmOf({ free, scored, excluded }, question, judges.random);
  const look = scored.find(({ live }) => live === (slow ?? unseen(scored, question)));
  // Who finds nothing there, and has it elsewhere, is not sent to look.
  const probe = due ?? (look === undefined || isDearer(look, warm) ? null : look.live);
  const usual = putFirst(putFirst([...free, ...full], warm.first), scored.find(({ live }) => live === probe) ?? null);
  if (usual.length === 0) return lastResort(question, excluded, spare);
  const standIns = ranked(spare.map((each) => each.scored)).slice(0, Math.max(0, tries - usual.length));
  const ordered = [...(rank === 'given' ? usual : keepApart(usual, tries)), ...standIns];
  return {
    order: ordered,
    excluded,
    choice: choiceOf(ordered, { free: free.length, probe, warm, question }),
    insteadOf: insteadOf(ordered[0], excluded, question),
    affinity: warm.affinity,
  };
}

function warmOf(
  {
    free,
    scored,
    excluded,
  }: { readonly free: readonly Scored[]; readonly scored: readonly Scored[]; readonly excluded: readonly Excluded[] },
  { rank, policy, adjust = null, warmth = null }: Question,
  random: Random,
): WarmChoice {
  if (rank === 'given' || warmth === null) return { first: null, affinity: null };
  const out = excluded.map((one) => one.scored);
  return chooseWarm({ free, open: scored, out, policy, isAdjusted: adjust !== null, home: warmth.home, random });
}

/**
 * One of whom nothing is known is taken to answer like the others: the most that an answer may have is many times the usual, and
 * would make whoever was never asked look dear and slow beside those that were.
 */
function likelyTokens(lives: readonly LiveTarget[], { kind, outputTokens }: Ask): number {
  let sum = 0;
  let count = 0;
  for (const live of lives) {
    const usual = live.pace(kind).outputTokens;
    if (usual === null) continue;
    sum += usual;
    count += 1;
  }
  return count === 0 ? outputTokens : Math.min(outputTokens, sum / count);
}

function sort(
  { ask, targets, rank, isPreview = false, warmth = null, now }: Question,
  { board, breakers }: Judges,
): Sorted {
  const open: Looked[] = [];
  const out: { looked: Looked; why: LeftOut; gate: Gate }[] = [];
  let probe: LiveTarget | null = null;
  let slow: LiveTarget | null = null;
  const weights = targets.reduce((sum, { weight }) => sum + weight, 0);
  const lives = targets.map((target) => board.of(target));
  const sized = { ...ask, likelyTokens: likelyTokens(lives, ask) };
  for (const live of lives) {
    const { target } = live;
    const looked = look(live, sized, now, rank === 'given' ? null : warmth);
    const found = looked.live.outReason(now);
    const fair = target.weight / weights;
    // No look by way of a breaker at what is known to be out.
    const gate = found === null ? breakers.gate(target, ask.kind, now, { fair, isPreview }) : 'shut';
    const isHeld = gate === 'spare' || gate === 'shut';
    const why = found ?? (isHeld ? 'circuit_breaker_open' : exclusionOf(looked, ask, breakers.enabled, now));
    if (why !== null) {
      out.push({ looked, why, gate });
      continue;
    }
    open.push(looked);
    // In a given order even a slow one has its share.
    const isDue = rank === 'score' && !isPreview && looked.live.speed(ask.kind)?.comesBy(now) === true;
    if (gate === 'probe') probe ??= looked.live;
    else if (isDue) slow ??= looked.live;
  }
  return { open, out, probe, slow };
}

/** Who would come first if it were well, and got nothing for so long that nobody knows whether it is. */
function unseen(scored: readonly Scored[], { policy, rank, now }: Question): LiveTarget | null {
  if (rank === 'given') return null;
  const best = Math.max(...scored.map(({ value }) => value));
  const found = scored.find(
    ({ live, health, utility, load }) =>
      health < UNSEEN_BELOW && now - live.usedAt >= UNSEEN_MS && utility - policy.load * load * health >= best,
  );
  return found?.live ?? null;
}

function exclusionOf({ live, estimate }: Looked, ask: Ask, mayRest: boolean, now: number): LeftOut | null {
  if (mayRest && live.busy.restUntil > now) return 'cooling_down';
  const { latencyLimitMs } = ask;
  if (latencyLimitMs !== null && estimate.totalMs !== null && estimate.totalMs > latencyLimitMs)
    return 'latency_budget';
  return null;
}

/** Scored among those that are open, as they would have been, for the record. */
function excludedOf(out: Sorted['out'], open: readonly Looked[], { policy, adjust }: Question): readonly Excluded[] {
  if (out.length === 0) return [];
  const all = score([...open, ...out.map(({ looked }) => looked)], policy, adjust ?? null).slice(open.length);
  return all.map((scored, at) => ({ scored, why: (out[at] as Sorted['out'][number]).why }));
}

/** Nobody is as he should be: who is merely too slow, else who gets a share of the traffic anyway, else nobody. */
function lastResort(question: Question, excluded: readonly Excluded[], spare: readonly Excluded[]): Plan {
  const late = excluded
    .filter(({ why }) => why === 'latency_budget')
    .toSorted((a, b) => (a.scored.estimate.totalMs ?? 0) - (b.scored.estimate.totalMs ?? 0));
  const { lastResort: rule } = question;
  const resting = excluded.filter(({ why }) => why === 'cooling_down');
  // Last of all: who says so may be wrong, or ill itself.
  const foundOut = excluded.filter(({ why }) => isOutReason(why));
  const shut = excluded.filter((one) => one.why === 'circuit_breaker_open' && !spare.includes(one));
  const anybody = rule === 'anybody' ? [...spare, ...resting, ...shut, ...foundOut] : [];
  const chosen = rule === 'nobody' ? [] : late.length > 0 ? late : anybody;
  const [first] = chosen;
  return {
    order: chosen.map(({ scored }) => scored),
    excluded,
    choice: first === undefined ? null : 'last_resort',
    insteadOf:
      first === undefined
        ? (excluded[0]?.why ?? null)
        : insteadOf(
            first.scored,
            excluded.filter((one) => one !== first),
            question,
          ),
    affinity: null,
  };
}

function isFull({ live, running }: Looked): boolean {
  const { limit } = live.busy;
  return limit !== null && running >= limit;
}

function putFirst(ordered: readonly Scored[], first: Scored | null): readonly Scored[] {
  return first === null || first === ordered[0] ? ordered : [first, ...ordered.filter((one) => one !== first)];
}

/** Why the first is not who it would have been, had nobody been left out. */
function insteadOf(
  first: Scored | undefined,
  excluded: readonly Excluded[],
  { rank, targets }: Question,
): LeftOut | null {
  if (first === undefined) return null;
  const place = ({ target }: Scored): number => targets.indexOf(target);
  const isAhead = (one: Scored): boolean =>
    rank === 'given' ? place(one) < place(first) : one.utility > first.utility;
  return excluded.find(({ scored }) => isAhead(scored))?.why ?? null;
}

function choiceOf(
  ordered: readonly Scored[],
  {
    free,
    probe,
    warm,
    question: { policy, rank },
  }: {
    readonly free: number;
    readonly probe: LiveTarget | null;
    readonly warm: WarmChoice;
    readonly question: Question;
  },
): Choice | null {
  const [first] = ordered;
  if (first === undefined) return null;
  if (first.live === probe) return 'probe';
  if (free === 0) return 'all_full';
  if (rank === 'given') return 'as_given';
  if (ordered.length === 1) return 'only_one';
  if (warm.affinity === 'hit' && first === warm.first) return 'warm';
  const { cost, latency, quality } = policy.weights;
  return cost + latency + quality === 0 ? 'least_loaded' : 'best_score';
}
