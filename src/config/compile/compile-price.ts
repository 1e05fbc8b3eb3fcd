import { microUnits, type Price, pricePerMtok, type Rates } from '../../core/money.ts';
import type { PriceEntry, PriceVersionEntry } from '../schema/price.ts';

type KindEntry = Omit<PriceVersionEntry, 'currency' | 'tiers' | 'valid_from'>;
type OptionalRate = Exclude<keyof Rates, 'promptPerMtok' | 'cachedPerMtok' | 'completionPerMtok'>;

const OPTIONAL = {
  cacheWritePerMtok: 'cache_write_per_mtok',
  cacheWriteLongPerMtok: 'cache_write_long_per_mtok',
  audioPromptPerMtok: 'audio_prompt_per_mtok',
  imagePromptPerMtok: 'image_prompt_per_mtok',
  reasoningPerMtok: 'reasoning_per_mtok',
  audioCompletionPerMtok: 'audio_completion_per_mtok',
  imageCompletionPerMtok: 'image_completion_per_mtok',
} as const satisfies Record<OptionalRate, keyof KindEntry>;

/** The first version, with the later ones in it. */
export function compilePrice({ versions }: PriceEntry): Price {
  const [first, ...later] = versions.map(compileVersion);
  if (first === undefined) return { currency: 'USD', ...compileRates({}) };
  return later.length === 0 ? first : { ...first, later };
}

function compileVersion(entry: PriceVersionEntry): Price {
  const { currency, tiers, valid_from: validFrom, ...kinds } = entry;
  return {
    currency,
    ...compileRates(kinds),
    ...(validFrom === undefined ? {} : { validFrom: Date.parse(validFrom) }),
    ...(tiers === undefined
      ? {}
      : {
          tiers: {
            mode: tiers.mode,
            // Merged as written, so that a default still follows its whole: in a tier with another prompt price, cached tokens
            // without a price of their own cost that.
            above: tiers.above.map(({ tokens, ...own }) => ({ tokens, ...compileRates({ ...kinds, ...own }) })),
          },
        }),
  };
}

function compileRates(kinds: KindEntry): Rates {
  const prompt = kinds.prompt_per_mtok ?? 0;
  const some: Partial<Record<OptionalRate, Rates['promptPerMtok']>> = {};
  for (const [rate, key] of Object.entries(OPTIONAL) as [OptionalRate, keyof KindEntry][]) {
    const decimal = kinds[key];
    if (decimal !== undefined) some[rate] = pricePerMtok(decimal);
  }
  return {
    promptPerMtok: pricePerMtok(prompt),
    cachedPerMtok: pricePerMtok(kinds.cached_per_mtok ?? prompt),
    completionPerMtok:
      kinds.completion_per_mtok === undefined ? microUnits(0) : pricePerMtok(kinds.completion_per_mtok),
    ...some,
  };
}
