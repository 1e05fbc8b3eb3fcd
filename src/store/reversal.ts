import type { LedgerEvent } from '../core/ledger-event.ts';
import type { MicroUnits } from '../core/money.ts';

/**
 * The entry that takes `event` back: the same with negative tokens and cost, so that sums over a ledger are right without
 * knowing about it. Written before the true events when a settlement comes after its lease was charged.
 */
export function reversalOf(event: LedgerEvent): LedgerEvent {
  return {
    ...event,
    promptTokens: minus(event.promptTokens),
    cachedTokens: minus(event.cachedTokens),
    completionTokens: minus(event.completionTokens),
    reasoningTokens: minus(event.reasoningTokens),
    cost: minus(event.cost) as MicroUnits,
  };
}

/** Without a negative zero. */
function minus(value: number): number {
  return value === 0 ? 0 : -value;
}
