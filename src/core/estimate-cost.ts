import {
  completionRates,
  type MicroUnits,
  type Price,
  priceAt,
  promptRates,
  rateBands,
  type Rates,
  roundedCost,
} from './money.ts';

/** Kinds of tokens that a request cannot use are left out of its estimate. */
export interface EstimateOptions {
  /** When the request arrived, Unix milliseconds: chooses the version of the price. */
  readonly time?: number;
  /** Can the request take or give audio? Default: true. */
  readonly audio?: boolean;
  /** Likewise for images. Default: true. */
  readonly image?: boolean;
}

/**
 * The most that a request can cost on any of `deployments`: whatever kinds of tokens its prompt of at most `promptTokens`
 * and its answer of at most `maxOutput` turn out to be, at the dearest tier within reach. For reservations against a limit
 * on spending. Never below what `costOf` says of a usage within these bounds. 0 for no deployments.
 */
export function estimateCost(
  deployments: Iterable<{ readonly price: Price }>,
  promptTokens: number,
  maxOutput: number,
  { time = Date.now(), audio = true, image = true }: EstimateOptions = {},
): MicroUnits {
  const prompt = wholeTokens(promptTokens);
  const output = wholeTokens(maxOutput);
  let most = 0n;
  for (const { price } of deployments) {
    const exact = mostOf(priceAt(price, time), prompt, output, { audio, image });
    if (exact > most) most = exact;
  }
  return roundedCost(most);
}

type Kinds = Required<Pick<EstimateOptions, 'audio' | 'image'>>;

function mostOf(price: Price, prompt: number, output: number, kinds: Kinds): bigint {
  const bands = rateBands(price).filter(({ from }) => from === 0 || prompt > from);
  let most = 0n;
  let below = 0n;
  let dearestOutput = 0n;
  for (const { rates, from, to } of bands) {
    const dearest = dearestOf(rates, kinds);
    const upTo = Math.min(prompt, to);
    if (price.tiers?.mode === 'excess') {
      below += BigInt(upTo - from) * dearest.prompt;
      if (dearest.completion > dearestOutput) dearestOutput = dearest.completion;
      most = below + BigInt(output) * dearestOutput;
    } else {
      // A tier above may be cheaper than the one below it: the dearest request need not be the longest.
      const here = BigInt(upTo) * dearest.prompt + BigInt(output) * dearest.completion;
      if (here > most) most = here;
    }
  }
  return most;
}

function dearestOf(rates: Rates, { audio, image }: Kinds): { readonly prompt: bigint; readonly completion: bigint } {
  const [cached = 0, write = 0, writeLong = 0, audioIn = 0, imageIn = 0, text = 0] = promptRates(rates);
  const [audioOut = 0, imageOut = 0, reasoning = 0, textOut = 0] = completionRates(rates);
  return {
    prompt: BigInt(Math.max(cached, write, writeLong, audio ? audioIn : 0, image ? imageIn : 0, text)),
    completion: BigInt(Math.max(audio ? audioOut : 0, image ? imageOut : 0, reasoning, textOut)),
  };
}

/** A bound that is no number is as good as none, and none is as much as there can be. */
function wholeTokens(count: number): number {
  if (Number.isNaN(count)) return Number.MAX_SAFE_INTEGER;
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.ceil(count)));
}
