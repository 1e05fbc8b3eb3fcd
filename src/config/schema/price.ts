import { z } from 'zod';

const perMtok = () => z.number().min(0).max(1_000_000);

/** Prices by kind of token, each with what it is when it is left out. */
const kinds = {
  prompt_per_mtok: perMtok().optional().describe('For a million prompt tokens. Default: 0.'),
  cached_per_mtok: perMtok().optional().describe('For a million prompt tokens from a cache. Default: as prompt_per_mtok.'),
  cache_write_per_mtok: perMtok().optional().describe('For a million prompt tokens that are written to a cache. Default: as prompt_per_mtok.'),
  cache_write_long_per_mtok: perMtok()
    .optional()
    .describe('Likewise, for the cache that keeps them for an hour. Default: as cache_write_per_mtok.'),
  audio_prompt_per_mtok: perMtok().optional().describe('For a million prompt tokens of audio. Default: as prompt_per_mtok.'),
  image_prompt_per_mtok: perMtok().optional().describe('For a million prompt tokens of images. Default: as prompt_per_mtok.'),
  completion_per_mtok: perMtok().optional().describe('For a million completion tokens. Default: 0.'),
  reasoning_per_mtok: perMtok().optional().describe('For a million tokens of reasoning. Default: as completion_per_mtok.'),
  audio_completion_per_mtok: perMtok().optional().describe('For a million completion tokens of audio. Default: as completion_per_mtok.'),
  image_completion_per_mtok: perMtok().optional().describe('For a million completion tokens of images. Default: as completion_per_mtok.'),
};

const tier = z.strictObject({
  tokens: z.int().min(1).max(100_000_000).describe('The tier begins with the token after these.'),
  ...kinds,
});

const tiers = z.strictObject({
  mode: z
    .enum(['excess', 'whole'])
    .describe('whole: a prompt above the border costs the price of its tier from its first token. excess: only the tokens above the border do. The answer costs what the tier of the prompt says, either way.'),
  above: z
    .array(tier)
    .min(1, 'needs at least one tier')
    .max(16)
    .refine((list) => list.every((one, at) => at === 0 || one.tokens > (list[at - 1]?.tokens ?? 0)), 'must ascend by tokens')
    .describe('What a tier leaves out is as below all tiers.'),
});

const price = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code of three capital letters').default('USD').describe('ISO 4217. Default: USD.'),
  ...kinds,
  tiers: tiers.optional().describe('Other prices for long prompts.'),
});

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const DATE_FORM = 'must be a date and time as in 2026-01-31T00:00:00Z (RFC 3339)';

/** The parser would take the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10);
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && midnight.toISOString().startsWith(day);
}

const version = price.extend({
  valid_from: z
    .string({ error: (issue) => (issue.input === undefined ? undefined : DATE_FORM) })
    .regex(DATE, DATE_FORM)
    .refine(isDay, DATE_FORM)
    .optional()
    .describe('From when it holds, by the arrival of a request: RFC 3339. Only the first version may leave it out.'),
});

const versions = z
  .array(version)
  .min(1, 'needs at least one version')
  .max(100)
  .superRefine((list, context) => {
    list.forEach((one, at) => {
      const before = list[at - 1];
      if (before === undefined) return;
      if (one.valid_from === undefined) context.addIssue({ code: 'custom', path: [at], message: 'needs valid_from' });
      else if (before.valid_from !== undefined && Date.parse(one.valid_from) <= Date.parse(before.valid_from))
        context.addIssue({ code: 'custom', path: [at, 'valid_from'], message: 'must be later than that of the version before' });
      if (one.currency !== before.currency)
        context.addIssue({ code: 'custom', path: [at, 'currency'], message: 'must be the currency of the other versions' });
    });
  });

type Version = z.output<typeof version>;

/** A price as it is written, or its versions in order of time. `listed` says which of the two it was. */
export const deploymentPrice = z
  .union([price, versions])
  .transform((written): { readonly currency: string; readonly listed: boolean; readonly versions: readonly Version[] } => {
    const list = Array.isArray(written) ? written : [written];
    return { currency: list[0]?.currency ?? 'USD', listed: Array.isArray(written), versions: list };
  })
  .describe('What tokens cost: one price, or a list of versions in order of valid_from.');

export type PriceEntry = z.output<typeof deploymentPrice>;
export type PriceVersionEntry = PriceEntry['versions'][number];
