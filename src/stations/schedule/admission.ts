import type { Admission, Arrived, Authenticated, Received } from '../../core/context.ts';
import type { GatewayError } from '../../core/error.ts';
import { type Amounts, type LimitLine, limitName } from '../../core/limit.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import { type QuotaStore, StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import { estimateOf, spendOf } from './estimate.ts';
import { expiryEvent } from './expiry-event.ts';
import { COUNT_ONLY } from './limit-lines.ts';
import { quotaRefusal } from './quota-refusal.ts';
import { rememberedLines } from './remembered-lines.ts';

/** What the store said to a request; a refusal is a value here, for the booking must know of it. */
export type Verdict = Admission | { readonly kind: 'denied'; readonly error: GatewayError };

export interface AdmissionOptions {
  readonly store: QuotaStore;
  readonly metrics: Metrics;
  readonly directory: DirectoryView;
  /** `place`: only among the requests that run. `use`: all but that. Default: both. */
  readonly part?: 'place' | 'use';
}

/** The limits of a request, or of that part of them. */
export function linesOf(
  { config, principal, request }: Arrived & Authenticated & Received,
  { directory, part }: Pick<AdmissionOptions, 'directory' | 'part'>,
): readonly LimitLine[] {
  const meant = config.aliases.get(request.model) ?? request.model;
  const lines = rememberedLines({ config, principal, directory }, request.model, meant);
  if (part === undefined) return lines;
  return lines.filter(({ window }) => (window.kind === 'concurrent') === (part === 'place'));
}

/**
 * Money is set aside only for a limit on it. Budgets alone count what was really spent: estimates of requests under way
 * would raise their alerts too early.
 */
function isLimited(lines: readonly LimitLine[]): boolean {
  return lines.some(({ unit, limit }) => unit === 'spend' && limit < COUNT_ONLY);
}

/** Reserves what a request may take from all its limits in one call. Throws only what is no failure of the store. */
export async function admit(
  ctx: Arrived & Authenticated & Received,
  { store, metrics, directory, part }: AdmissionOptions,
): Promise<Verdict> {
  const { config, principal, request } = ctx;
  const estimate = estimateOf(config, request);
  const lines = linesOf(ctx, { directory, ...(part === undefined ? {} : { part }) });
  const spend = isLimited(lines) ? spendOf(config, request, estimate, ctx.time) : 0;
  const amounts: Amounts = {
    requests: 1,
    tokens: estimate.promptTokens + estimate.outputTokens,
    spend,
  };
  try {
    const result = await store.admit({
      operation: ctx.operation,
      tenant: principal.tenant,
      lines,
      amounts,
      leaseMs: config.ledger.leaseMs,
      onExpiry: config.ledger.onCrash === 'charge' && part !== 'place' ? expiryEvent(ctx, estimate, spend) : null,
    });
    if (result.kind === 'held') return { kind: 'held', limits: result.limits, reservedTokens: amounts.tokens };
    metrics.quotaDenied(limitName(result.by.line));
    return { kind: 'denied', error: quotaRefusal(result, principal, amounts) };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { kind: 'unbooked', reason: error.message, mayHold: error.sent };
  }
}
