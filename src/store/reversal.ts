import { TOKEN_FIELDS } from '../core/ledger-event.ts';
import type { LedgerEvent, TokenField } from '../core/ledger-event.ts';
import type { MicroUnits } from '../core/money.ts';

/**
 * The entry that takes `event` back: the same with negative tokens and cost, so that sums over a ledger are right without
 * knowing about it. Written before the true events when a settlement comes after its lease was charged.
 */
export function reversalOf(event: LedgerEvent): LedgerEvent {
  const tokens: Partial<Record<TokenField, number>> = {};
  for (const field of Object.keys(TOKEN_FIELDS) as TokenField[]) {
    const count = event[field];
    if (count !== undefined) tokens[field] = minus(count);
  }
  return { ...event, ...tokens, cost: minus(event.cost) as MicroUnits };
}

/** Without a negative zero. */
function minus(value: number): number {
  return value === 0 ? 0 : -value;
}
