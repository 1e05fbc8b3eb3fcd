import type { ScorePolicy } from '../core/score-policy.ts';
import { mixed } from '../lib/hash32/hash32.ts';
import type { Random } from './order.ts';
import type { Scored } from './score.ts';
import type { Warmth } from './warm-keys.ts';

/** What a question's keys did: `hit` somebody has it and is first; `miss` nobody has; `gated` who has it may not be first. */
export type Affinity = 'hit' | 'miss' | 'gated';

/** Who has more under way than this many times its fair share, and a little, gets nothing for being warm. */
const GATE_TIMES = 1.5;
const GATE_MORE = 2;
/** Who has less than this part of the best health gets nothing for being warm, and has no part in the shares. */
const WELL = 0.5;
/** A smaller part of a prompt is what many prompts begin with, and no reason to crowd those who have it. */
const LEAST_MATCH = 0.1;
/** Who runs less than this part of its fair share gets such a part of what others have warm: else it would never have it, too. */
const IDLE = 0.25;
const EXPLORE = 0.01;
/** Who is this much worse by value, and runs no more, is equally free: small differences in health are no reason to go to one of all. */
const NEAR = 0.02;
const TIE = 1e-9;

export interface WarmChoice {
  /** Who should be first for its warmth, or for its place where all else is equal; null = as ordered. */
  readonly first: Scored | null;
  /** Null = being warm does not count. */
  readonly affinity: Affinity | null;
}

interface Options {
  /** Those with room, best first. */
  readonly free: readonly Scored[];
  /** All that may serve, full ones too. */
  readonly open: readonly Scored[];
  /** Those that may not. */
  readonly out: readonly Scored[];
  readonly policy: ScorePolicy;
  /** A rule of the operator's decides on the score: then nobody with a lower one goes first. */
  readonly isAdjusted: boolean;
  readonly home: Warmth['home'];
  readonly random: Random;
}

/**
 * The best match among those that have room, are well, and run no more than 1.5 times their fair share and 2. A fair share is by
 * capacity and health among the well ones of the group that is first anyway, so being warm changes neither the model nor
 * makes it dearer or worse. Nobody has it: the least loaded.
 */
export function chooseWarm({ free, open, out, policy, isAdjusted, home, random }: Options): WarmChoice {
  const [first] = free;
  if (first === undefined) return { first: null, affinity: null };
  const place = home(first.target.group);
  if (first.warm === null) return { first: atHome(free, place), affinity: null };
  const peers = wellOf(open.filter(({ target }) => target.group === first.target.group));
  const fair = fairShare(peers);
  let best: Scored | null = null;
  let isKnown = out.some((one) => isMatch(one, first));
  for (const one of open) isKnown ||= isMatch(one, first);
  if (!isKnown) return { first: atHome(free, place), affinity: 'miss' };
  for (const one of free) {
    if (!isMatch(one, first) || !peers.includes(one) || one.running > GATE_TIMES * fair(one) + GATE_MORE + TIE)
      continue;
    if (!isAsGood(one, first, policy, isAdjusted)) continue;
    // The order of `free` decides among equals.
    if (best === null || (one.warm ?? 0) > (best.warm ?? 0)) best = one;
  }
  const isTurn = best !== first && peers.includes(first) && isIdle(first, fair(first)) && random() < EXPLORE;
  if (best === null || isTurn) return { first: null, affinity: 'gated' };
  return { first: best, affinity: 'hit' };
}

/** Where each has something to do and this one little. */
const isIdle = ({ running }: Scored, share: number): boolean => share >= 1 && running < IDLE * share;

/** Those that are not much less healthy than the best of them: when all are slow, that is no reason to forget what is warm. */
function wellOf(peers: readonly Scored[]): readonly Scored[] {
  let best = 0;
  for (const { health } of peers) best = Math.max(best, health);
  return peers.filter(({ health }) => health >= WELL * best);
}

/** Would a request lose what it has warm elsewhere by going there? */
export function isDearer({ warm }: Scored, { affinity }: WarmChoice): boolean {
  return affinity === 'hit' && warm !== null && warm < LEAST_MATCH;
}

const isMatch = ({ warm, target }: Scored, first: Scored): boolean =>
  target.group === first.target.group && warm !== null && warm >= LEAST_MATCH;

/** What each would run if all that runs were spread by capacity and health. */
function fairShare(peers: readonly Scored[]): (one: Scored) => number {
  let running = 0;
  let room = 0;
  for (const one of peers) {
    running += one.running;
    room += roomOf(one);
  }
  return (one) => (room === 0 ? 0 : (running * roomOf(one)) / room);
}

/** Capacity times health: see `load`. */
const roomOf = ({ running, load }: Scored): number => (running + 1) / load;

function isAsGood(one: Scored, first: Scored, { weights }: ScorePolicy, isAdjusted: boolean): boolean {
  if (isAdjusted) return one.utility >= first.utility - TIE;
  if (weights.cost > 0 && one.cost > first.cost * (1 + TIE)) return false;
  return weights.quality === 0 || one.target.quality >= first.target.quality;
}

/** Of those that are as free as the first, or nearly as well, the one where what belongs together goes (rendezvous hashing). */
function atHome(free: readonly Scored[], home: number | null): Scored | null {
  const [first] = free;
  if (first === undefined || home === null) return null;
  let best = first;
  let highest = -1;
  for (const one of free) {
    if (one.running > first.running || one.value < first.value - NEAR) continue;
    const lot = joined(home, one.live.lot);
    if (lot <= highest) continue;
    highest = lot;
    best = one;
  }
  return best;
}

/** Two numbers to one below 2^32 that depends on every bit of both. */
function joined(one: number, other: number): number {
  return mixed(one ^ Math.floor(one / 2 ** 32) ^ other);
}
