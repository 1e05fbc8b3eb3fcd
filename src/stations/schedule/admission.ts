import type { Admission, Arrived, Authenticated, Received } from '../../core/context.ts';
import type { GatewayError } from '../../core/error.ts';
import { type Amounts, limitName } from '../../core/limit.ts';
import { type QuotaStore, StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import { estimateOf } from './estimate.ts';
import { expiryEvent } from './expiry-event.ts';
import { limitLines } from './limit-lines.ts';
import { quotaRefusal } from './quota-refusal.ts';

/** What the store said to a request; a refusal is a value here, for the booking must know of it. */
export type Verdict = Admission | { readonly kind: 'denied'; readonly error: GatewayError };

/** Reserves what a request may take from all its limits in one call. Throws only what is no failure of the store. */
export async function admit(
  ctx: Arrived & Authenticated & Received,
  { store, metrics }: { readonly store: QuotaStore; readonly metrics: Metrics },
): Promise<Verdict> {
  const { config, principal, request } = ctx;
  const estimate = estimateOf(config, request);
  const amounts: Amounts = { requests: 1, tokens: estimate.promptTokens + estimate.outputTokens };
  try {
    const result = await store.admit({
      operation: ctx.operation,
      tenant: principal.tenant,
      lines: limitLines(config, principal),
      amounts,
      leaseMs: config.ledger.leaseMs,
      onExpiry: config.ledger.onCrash === 'charge' ? expiryEvent(ctx, estimate) : null,
    });
    if (result.kind === 'held') return { kind: 'held', limits: result.limits, reservedTokens: amounts.tokens };
    metrics.quotaDenied(limitName(result.by.line));
    return { kind: 'denied', error: quotaRefusal(result, principal, amounts) };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { kind: 'unbooked', reason: error.message, mayHold: error.sent };
  }
}
