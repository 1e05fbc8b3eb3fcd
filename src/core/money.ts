import type { Usage } from './usage.ts';

declare const micro: unique symbol;

/** Money as a whole number of micro-units of its currency (1 USD = 1,000,000). Below 2^53. */
export type MicroUnits = number & { readonly [micro]: true };

/** Micro-units per million tokens, whole numbers: 0.05 USD per million is 50,000. */
export interface Price {
  readonly currency: string;
  readonly promptPerMtok: MicroUnits;
  readonly cachedPerMtok: MicroUnits;
  readonly completionPerMtok: MicroUnits;
}

const MTOK = 1_000_000n;
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

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

/**
 * The cost of `usage`, rounded half up, and at least one micro-unit when a priced token was used. What a double cannot hold
 * exactly stands still at the largest number that it can: no upstream's figures may stop a request from ending.
 */
export function costOf(usage: Usage, price: Price): MicroUnits {
  const cached = Math.min(usage.cached, usage.prompt);
  const exact =
    BigInt(usage.prompt - cached) * BigInt(price.promptPerMtok) +
    BigInt(cached) * BigInt(price.cachedPerMtok) +
    BigInt(usage.completion) * BigInt(price.completionPerMtok);
  if (exact === 0n) return 0 as MicroUnits;
  const rounded = (exact + MTOK / 2n) / MTOK;
  if (rounded > MOST) return Number(MOST) as MicroUnits;
  return microUnits(Number(rounded === 0n ? 1n : rounded));
}

/** `1234567` micro-units as `1.234567`. */
export function formatMicroUnits(amount: MicroUnits): string {
  const sign = amount < 0 ? '-' : '';
  const digits = Math.abs(amount).toString().padStart(7, '0');
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
