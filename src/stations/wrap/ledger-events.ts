import { requestTypeOf } from '../../core/request-type.ts';
import type { RequestContext } from '../../core/context.ts';
import { NO_ROOM } from '../../core/job.ts';
import { type LedgerEvent, type LedgerStatus, ledgerTokens } from '../../core/ledger-event.ts';
import { costOf, type MicroUnits } from '../../core/money.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { NO_USAGE, type Usage } from '../../core/usage.ts';

/** A try as the ledger sees it. */
export interface BookedAttempt {
  readonly number: number;
  readonly deployment: Deployment;
  readonly usage: Usage;
  readonly usageFlag: string | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

/**
 * What a request is booked as. `end`: of the one that its client got; `status`: what the client was told. A job that found no room waits
 * on, so its tenant had no request yet: only its tries, if any reached a model, are booked, and they are the gateway's.
 */
export function bookedEvents(
  ctx: Pick<RequestContext, 'principal'>,
  {
    thrownAway,
    end,
    status,
  }: { readonly thrownAway: readonly LedgerEvent[]; readonly end: LedgerEvent; readonly status: number },
): readonly LedgerEvent[] {
  if (ctx.principal.job === undefined || !NO_ROOM.has(status)) return [...thrownAway, end];
  return [...thrownAway, ...(end.attempt > 0 ? [{ ...end, chargedTo: 'gateway' as const }] : [])];
}

/** One cost event. `deployment` null stands for a request that reached no model. */
export function ledgerEvent(
  ctx: RequestContext,
  attempt: BookedAttempt | null,
  status: LedgerStatus,
  chargedTo: LedgerEvent['chargedTo'],
): LedgerEvent {
  const usage = attempt?.usage ?? NO_USAGE;
  const deployment = attempt?.deployment ?? null;
  return {
    operation: ctx.operation,
    requestId: ctx.shownId,
    attempt: attempt?.number ?? 0,
    chargedTo,
    status,
    tenant: ctx.principal.tenant,
    subject: ctx.principal.subject,
    businessLine: ctx.principal.businessLine,
    requestType: requestTypeOf(ctx),
    route: ctx.decision.route.id,
    requestedModel: ctx.request.model,
    model: deployment?.model ?? '',
    backend: deployment?.backend.name ?? '',
    ...ledgerTokens(usage),
    estimated: usage.source === 'estimate',
    usageFlag: attempt?.usageFlag ?? null,
    cost: deployment === null ? (0 as MicroUnits) : costOf(usage, deployment.price, ctx.time),
    currency: deployment?.price.currency ?? 'USD',
    firstTokenMs: attempt?.firstTokenMs ?? null,
    totalMs: attempt?.totalMs ?? 0,
    time: ctx.time,
  };
}
