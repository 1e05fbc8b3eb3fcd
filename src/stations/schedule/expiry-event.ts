import { requestTypeOf } from '../../core/request-type.ts';
import type { Arrived, Authenticated, Received } from '../../core/context.ts';
import { headerValue } from '../../core/header-value.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import { costOf, microUnits } from '../../core/money.ts';
import type { Estimate } from './estimate.ts';

/**
 * What the store books by itself when nobody settles the operation before its lease runs out: the whole estimate.
 * @param reserved - Micro-units set aside; 0 when none were. Then that is the cost: counters and ledger must agree.
 */
export function expiryEvent(
  ctx: Arrived & Authenticated & Received,
  estimate: Estimate,
  reserved: number,
): LedgerEvent {
  const { principal, request } = ctx;
  const { deployment, promptTokens, outputTokens } = estimate;
  const usage = {
    prompt: promptTokens,
    cached: 0,
    completion: outputTokens,
    reasoning: 0,
    source: 'estimate',
  } as const;
  return {
    operation: ctx.operation,
    requestId: ctx.shownId,
    attempt: 0,
    chargedTo: 'tenant',
    status: 'error',
    tenant: principal.tenant,
    subject: principal.subject,
    businessLine: principal.businessLine,
    requestType: headerValue(requestTypeOf(ctx)),
    route: '',
    requestedModel: request.model,
    model: deployment?.model ?? '',
    backend: deployment?.backend.name ?? '',
    promptTokens,
    cachedTokens: 0,
    completionTokens: outputTokens,
    reasoningTokens: 0,
    estimated: true,
    usageFlag: 'lease expired',
    cost:
      reserved > 0
        ? microUnits(reserved)
        : deployment === null
          ? microUnits(0)
          : costOf(usage, deployment.price, ctx.time),
    currency: deployment?.price.currency ?? 'USD',
    firstTokenMs: null,
    totalMs: 0,
    time: ctx.time,
  };
}
