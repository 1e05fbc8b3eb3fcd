import type { Path } from '../problem.ts';
import type { PriceEntry } from '../schema/price.ts';
import type { CheckContext } from './finding.ts';

/** Warns of prices that can be meant, but seldom are. `path` leads to `price`. */
export function checkPrice(context: CheckContext, price: PriceEntry, path: Path): void {
  price.versions.forEach((version, at) => {
    const where = price.listed ? [...path, at] : path;
    const prompt = version.prompt_per_mtok ?? 0;
    if (version.cached_per_mtok !== undefined && version.cached_per_mtok > prompt)
      context.warn([...where, 'cached_per_mtok'], 'is higher than prompt_per_mtok: cached tokens would cost more');
    version.tiers?.above.forEach((tier, index) => {
      const cached = tier.cached_per_mtok ?? version.cached_per_mtok;
      if (cached !== undefined && cached > (tier.prompt_per_mtok ?? prompt))
        context.warn(
          [...where, 'tiers', 'above', index],
          'has cached_per_mtok above prompt_per_mtok: cached tokens would cost more',
        );
    });
  });
}
