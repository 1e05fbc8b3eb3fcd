import type { Spread } from '../core/score-policy.ts';
import type { Scored } from './score.ts';

const TIE = 1e-9;

/** Numbers in [0, 1). */
export type Random = () => number;

/** Puts candidates in order, best first, with chance only among those that are nearly alike. */
export function order(scored: readonly Scored[], spread: Spread, random: Random): Scored[] {
  switch (spread.kind) {
    case 'near':
      return nearFirst(byValue(scored, random), spread.near, random);
    case 'two_choices':
      return betterOfTwo(byValue(scored, random), random);
    case 'softmax':
      return bySoftmax(scored, spread.temperature, random);
    default:
      return spread satisfies never;
  }
}

/** Best first; equals in an order of chance, so that nobody is always first of them. */
function byValue(scored: readonly Scored[], random: Random): Scored[] {
  return scored
    .map((one) => ({ one, lot: random() }))
    .toSorted((a, b) => (Math.abs(a.one.value - b.one.value) > TIE ? b.one.value - a.one.value : a.lot - b.lot))
    .map(({ one }) => one);
}

function nearFirst(sorted: Scored[], near: number, random: Random): Scored[] {
  const [best] = sorted;
  if (best === undefined || near <= 0) return sorted;
  const count = sorted.findIndex(({ value }) => value < best.value - near);
  const alike = count === -1 ? sorted : sorted.slice(0, count);
  if (alike.length === 1) return sorted;
  return [...byLot(alike, (one) => one.target.weight * one.health, random), ...sorted.slice(alike.length)];
}

function betterOfTwo(sorted: Scored[], random: Random): Scored[] {
  const [first, second] = byLot(sorted, (one) => one.target.weight, random);
  if (first === undefined || second === undefined) return sorted;
  const chosen = sorted.indexOf(first) < sorted.indexOf(second) ? first : second;
  return [chosen, ...sorted.filter((one) => one !== chosen)];
}

/** Each has a chance of weight × e^(value / temperature), and so on among those left (Gumbel's trick). */
function bySoftmax(scored: readonly Scored[], temperature: number, random: Random): Scored[] {
  return scored
    .map((one) => ({ one, key: one.value / temperature + Math.log(one.target.weight) + gumbel(random) }))
    .toSorted((a, b) => b.key - a.key)
    .map(({ one }) => one);
}

function gumbel(random: Random): number {
  return -Math.log(-Math.log(Math.max(random(), Number.MIN_VALUE)));
}

/** Drawn one after another by share of weight (Efraimidis and Spirakis, 2006). */
function byLot(candidates: readonly Scored[], weightOf: (one: Scored) => number, random: Random): Scored[] {
  return candidates
    .map((one) => ({ one, key: Math.log(Math.max(random(), Number.MIN_VALUE)) / weightOf(one) }))
    .toSorted((a, b) => b.key - a.key)
    .map(({ one }) => one);
}

/** Moves candidates up so that the first `count` do not fail together, where there are enough domains. */
export function keepApart(ordered: readonly Scored[], count: number): readonly Scored[] {
  const left = [...ordered];
  const taken: Scored[] = [];
  const seen = new Set<string>();
  while (taken.length < count && left.length > 0) {
    const fresh = left.findIndex(({ target }) => !seen.has(target.domain));
    const [next] = left.splice(Math.max(0, fresh), 1);
    if (next === undefined) break;
    seen.add(next.target.domain);
    taken.push(next);
  }
  return [...taken, ...left];
}
