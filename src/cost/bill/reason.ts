import { added, type LedgerSums, NOTHING } from './ledger-days.ts';

/** Why a day of a bill and of the ledger differ, most likely. */
export type Reason =
  | 'missing_in_ledger'
  | 'missing_in_bill'
  | 'tokens_differ'
  | 'price_differs'
  | 'cached_priced_as_prompt'
  | 'rounding'
  | 'estimate_in_ledger'
  | 'failed_attempts_billed'
  | 'timezone_shift';

/** A day as the provider bills it; cost in micro-units. */
export interface Billed {
  readonly input: number;
  readonly cached: number | null;
  readonly output: number;
  readonly cost: number | null;
}

export interface DayToExplain {
  readonly billed: Billed | null;
  readonly charged: LedgerSums | null;
  readonly failed: LedgerSums;
  /** Micro-units that rounding alone can make. */
  readonly rounding: number;
  /** Do days of another zone explain it? */
  readonly shifted: boolean;
}

/** The first of the reasons that explains the whole difference; null where there is none. */
export function reasonOf({ billed, charged, failed, rounding, shifted }: DayToExplain): Reason | null {
  if (billed === null) {
    if (charged === null || isNothing(charged)) return null;
    return shifted ? 'timezone_shift' : 'missing_in_bill';
  }
  const ours = charged ?? NOTHING;
  if (sameTokens(billed, ours)) return costReason(billed, ours, rounding);
  if (failed.events > 0 && sameTokens(billed, added(ours, failed))) return 'failed_attempts_billed';
  if (shifted) return 'timezone_shift';
  if (charged === null || isNothing(charged)) return failed.events > 0 ? 'failed_attempts_billed' : 'missing_in_ledger';
  const off = Math.abs(billed.input - ours.input) + Math.abs(billed.output - ours.output);
  if (off <= ours.estimated) return 'estimate_in_ledger';
  const more = billed.input >= ours.input && billed.output >= ours.output;
  // Of a try that broke off, the provider may know tokens that nobody told us.
  return more && failed.events > 0 ? 'failed_attempts_billed' : 'tokens_differ';
}

export function sameTokens(
  billed: Pick<Billed, 'input' | 'output'>,
  ours: Pick<LedgerSums, 'input' | 'output'>,
): boolean {
  return billed.input === ours.input && billed.output === ours.output;
}

function costReason(billed: Billed, ours: LedgerSums, rounding: number): Reason | null {
  const cacheDiffers = billed.cached !== null && billed.cached !== ours.cached;
  const off = billed.cost === null ? 0 : billed.cost - ours.cost;
  if (off === 0) return cacheDiffers ? 'tokens_differ' : null;
  if (Math.abs(off) <= rounding) return 'rounding';
  const { uncachedCost } = ours;
  const asPrompt =
    uncachedCost !== null && uncachedCost !== ours.cost && Math.abs((billed.cost ?? 0) - uncachedCost) <= rounding;
  if (asPrompt || (cacheDiffers && billed.cached === 0 && off > 0)) return 'cached_priced_as_prompt';
  return cacheDiffers ? 'tokens_differ' : 'price_differs';
}

function isNothing(sums: LedgerSums): boolean {
  return sums.input === 0 && sums.output === 0 && sums.cost === 0;
}
