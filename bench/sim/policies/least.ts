import type { Random } from '../engine/random.ts';

/** The host with the least cost, ties broken at random; hosts in `except` only when there is no other. */
export function leastOf(
  count: number,
  cost: (host: number) => number,
  { random, except }: { readonly random: Random; readonly except: readonly number[] },
): number {
  let best = -1;
  let least = Infinity;
  let ties = 0;
  for (let host = 0; host < count; host += 1) {
    if (except.length < count && except.includes(host)) continue;
    const own = cost(host);
    if (own < least || best < 0) {
      best = host;
      least = own;
      ties = 1;
    } else if (own === least) {
      ties += 1;
      if (random() * ties < 1) best = host;
    }
  }
  return best;
}

/** The hosts that may be picked: all but those tried, or all when every one was tried. */
export function untried(count: number, tried: readonly number[]): readonly number[] {
  const all = Array.from({ length: count }, (_, host) => host);
  const left = all.filter((host) => !tried.includes(host));
  return left.length > 0 ? left : all;
}
