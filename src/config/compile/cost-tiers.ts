import type { CostTier } from '../../core/directory.ts';
import { type Price, priceAt } from '../../core/money.ts';

/** What a million tokens in and a million out cost at `time`, in micro-units. */
function priceOf(price: Price, time: number): number {
  const { promptPerMtok, completionPerMtok } = priceAt(price, time);
  return promptPerMtok + completionPerMtok;
}

/**
 * The class of cost of a price among all prices of its currency, each counted once: the cheapest third (rounded up) is
 * `economy`, the dearest third (rounded down, at least one) is `core`, the rest `standard`. A lone price is `economy`.
 * @param time - Unix milliseconds: the versions of prices that hold then are compared.
 */
export function relativeTier(price: Price, all: readonly Price[], time: number): CostTier {
  const own = priceOf(price, time);
  const rivals = all.filter(({ currency }) => currency === price.currency);
  const distinct = new Set(rivals.map((rival) => priceOf(rival, time)));
  const cheaper = [...distinct].filter((other) => other < own).length;
  if (cheaper < Math.ceil(distinct.size / 3)) return 'economy';
  return cheaper >= distinct.size - Math.max(1, Math.floor(distinct.size / 3)) ? 'core' : 'standard';
}
