import type { Usage } from './usage.ts';

declare const micro: unique symbol;

/** Money as a whole number of micro-units of its currency (1 USD = 1,000,000). Below 2^53. */
export type MicroUnits = number & { readonly [micro]: true };

/** Micro-units per million tokens of each kind, whole numbers: 0.05 USD per million is 50,000. */
export interface Rates {
  readonly promptPerMtok: MicroUnits;
  readonly cachedPerMtok: MicroUnits;
  readonly completionPerMtok: MicroUnits;
  /** Left out: as the prompt. */
  readonly cacheWritePerMtok?: MicroUnits;
  /** Left out: as other writes. */
  readonly cacheWriteLongPerMtok?: MicroUnits;
  /** Left out: as the prompt. */
  readonly audioPromptPerMtok?: MicroUnits;
  /** Left out: as the prompt. */
  readonly imagePromptPerMtok?: MicroUnits;
  /** Left out: as the completion. */
  readonly reasoningPerMtok?: MicroUnits;
  /** Left out: as the completion. */
  readonly audioCompletionPerMtok?: MicroUnits;
  /** Left out: as the completion. */
  readonly imageCompletionPerMtok?: MicroUnits;
}

/** Rates for long prompts: they hold when the prompt has more than `tokens`. */
export interface PriceTier extends Rates {
  readonly tokens: number;
}

/**
 * `whole`: the highest tier that the prompt reaches holds for the whole request. `excess`: each prompt token costs what the
 * tier of its own position says, in the order cached, cache writes, audio, images, text; the completion costs what the tier
 * of the prompt's last token says.
 */
export interface PriceTiers {
  readonly mode: 'excess' | 'whole';
  /** Ascending. */
  readonly above: readonly PriceTier[];
}

/** What a deployment's tokens cost: its first version, and those that came or come later. */
export interface Price extends Rates {
  readonly currency: string;
  readonly tiers?: PriceTiers;
  /** Unix milliseconds from which a later version holds. */
  readonly validFrom?: number;
  /** Ascending by `validFrom`; of the same currency, and without versions of their own. */
  readonly later?: readonly Price[];
}

const MTOK = 1_000_000n;
const MOST = BigInt(Number.MAX_SAFE_INTEGER);
/** Below it, doubles add and divide by `MTOK` without a slip. */
const MOST_EXACT = 2 ** 49;

/** Checks that `value` is a whole number that a double holds exactly. Throws `RangeError`. */
export function microUnits(value: number): MicroUnits {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a whole number of micro-units: ${value}`);
  return value as MicroUnits;
}

/** Turns a decimal price of a currency unit per million tokens into micro-units, half up. Throws `RangeError`. */
export function pricePerMtok(decimal: number): MicroUnits {
  if (!Number.isFinite(decimal) || decimal < 0) throw new RangeError(`not a price: ${decimal}`);
  return microUnits(Math.round(decimal * 1_000_000));
}

/** The version that holds at `time` (Unix milliseconds); before all of them the first, for nothing is ever without a price. */
export function priceAt(price: Price, time: number): Price {
  let held = price;
  for (const version of price.later ?? []) if ((version.validFrom ?? 0) <= time) held = version;
  return held;
}

/**
 * The cost of `usage` at the version of `time` (when the request arrived, Unix milliseconds), rounded half up, and at least
 * one micro-unit when a priced token was used. What a double cannot hold exactly stands still at the largest number that it
 * can: no upstream's figures may stop a request from ending. Parts that together exceed their whole count in the order of
 * `PriceTiers`, as far as the whole goes.
 */
export function costOf(usage: Usage, price: Price, time: number = Date.now()): MicroUnits {
  const held = price.later === undefined ? price : priceAt(price, time);
  const plain = plainCost(usage, held);
  if (plain !== null) return plain;
  const prompt = promptParts(usage);
  const reached = reachedRates(held, usage.prompt);
  const completion = dot(completionParts(usage), completionRates(reached));
  if (held.tiers?.mode !== 'excess') return roundedCost(dot(prompt, promptRates(reached)) + completion);
  let exact = completion;
  for (const { rates, from, to } of rateBands(held)) exact += dot(between(prompt, from, to), promptRates(rates));
  return roundedCost(exact);
}

/** The same for most usage and prices: text alone, no tiers, and figures that doubles add up exactly. Else null. */
function plainCost(usage: Usage, price: Price): MicroUnits | null {
  const { prompt, cached, completion, reasoning } = usage;
  if (price.tiers !== undefined || price.reasoningPerMtok !== undefined) return null;
  if (usage.cacheWrite !== undefined || usage.cacheWriteLong !== undefined) return null;
  if (usage.audioPrompt !== undefined || usage.imagePrompt !== undefined) return null;
  if (usage.audioCompletion !== undefined || usage.imageCompletion !== undefined) return null;
  const isSound = cached >= 0 && cached <= prompt && reasoning >= 0 && completion >= 0;
  if (!isSound || !Number.isInteger(prompt) || !Number.isInteger(cached) || !Number.isInteger(completion)) return null;
  const ofPrompt = cached * price.cachedPerMtok + (prompt - cached) * price.promptPerMtok;
  const exact = ofPrompt + completion * price.completionPerMtok;
  if (!(exact >= 0 && exact < MOST_EXACT)) return null;
  if (exact === 0) return 0 as MicroUnits;
  return Math.max(1, Math.floor((exact + 500_000) / 1_000_000)) as MicroUnits;
}

/** Token-prices (micro-units times a million) as micro-units: half up, never free, never more than a double holds. */
export function roundedCost(exact: bigint): MicroUnits {
  if (exact <= 0n) return 0 as MicroUnits;
  const rounded = (exact + MTOK / 2n) / MTOK;
  if (rounded > MOST) return Number(MOST) as MicroUnits;
  return microUnits(Number(rounded === 0n ? 1n : rounded));
}

/** The stretches of a prompt, from which token (exclusive) to which (inclusive), and what holds there. */
export function rateBands(
  price: Price,
): readonly { readonly rates: Rates; readonly from: number; readonly to: number }[] {
  const above = price.tiers?.above ?? [];
  return [price, ...above].map((rates, at) => ({
    rates,
    from: above[at - 1]?.tokens ?? 0,
    to: above[at]?.tokens ?? Infinity,
  }));
}

/** Of the prompt, in the order of `PriceTiers`: cached, cache writes, long cache writes, audio, image, text. */
export function promptRates(rates: Rates): readonly MicroUnits[] {
  const { promptPerMtok: text } = rates;
  const write = rates.cacheWritePerMtok ?? text;
  const media = [rates.audioPromptPerMtok ?? text, rates.imagePromptPerMtok ?? text];
  return [rates.cachedPerMtok, write, rates.cacheWriteLongPerMtok ?? write, ...media, text];
}

/** Of the completion: audio, image, reasoning, text. */
export function completionRates(rates: Rates): readonly MicroUnits[] {
  const { completionPerMtok: text } = rates;
  const media = [rates.audioCompletionPerMtok ?? text, rates.imageCompletionPerMtok ?? text];
  return [...media, rates.reasoningPerMtok ?? text, text];
}

function reachedRates(price: Price, prompt: number): Rates {
  let reached: Rates = price;
  for (const tier of price.tiers?.above ?? []) if (prompt > tier.tokens) reached = tier;
  return reached;
}

function promptParts(usage: Usage): readonly number[] {
  const write = usage.cacheWrite ?? 0;
  const long = Math.min(usage.cacheWriteLong ?? 0, write);
  return split(usage.prompt, [usage.cached, write - long, long, usage.audioPrompt ?? 0, usage.imagePrompt ?? 0]);
}

function completionParts(usage: Usage): readonly number[] {
  return split(usage.completion, [usage.audioCompletion ?? 0, usage.imageCompletion ?? 0, usage.reasoning]);
}

/** The parts as far as the whole goes, and what is left of it. */
function split(whole: number, parts: readonly number[]): readonly number[] {
  let left = whole;
  const taken = parts.map((part) => {
    const count = Math.min(part, left);
    left -= count;
    return count;
  });
  return [...taken, left];
}

function between(counts: readonly number[], from: number, to: number): readonly number[] {
  let at = 0;
  return counts.map((count) => {
    const start = Math.max(from, at);
    at += count;
    return Math.max(0, Math.min(to, at) - start);
  });
}

function dot(counts: readonly number[], rates: readonly MicroUnits[]): bigint {
  let sum = 0n;
  counts.forEach((count, at) => {
    if (count !== 0) sum += BigInt(count) * BigInt(rates[at] ?? 0);
  });
  return sum;
}

/** `1234567` micro-units as `1.234567`. */
export function formatMicroUnits(amount: MicroUnits): string {
  const sign = amount < 0 ? '-' : '';
  const digits = Math.abs(amount).toString().padStart(7, '0');
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
