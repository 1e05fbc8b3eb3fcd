import { GATEWAY_TENANT } from '../../core/gateway-tenant.ts';
import { newRequestId, operationOf } from '../../core/ids.ts';
import { type LedgerEvent, ledgerTokens } from '../../core/ledger-event.ts';
import { costOf } from '../../core/money.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';

/** The cost event of one question of ours to a model. @param time - Unix milliseconds. */
export function probeEvent(
  deployment: Deployment,
  {
    usage,
    isGood,
    totalMs,
    time,
    worker,
  }: {
    readonly usage: Usage;
    readonly isGood: boolean;
    readonly totalMs: number;
    readonly time: number;
    readonly worker: number;
  },
): LedgerEvent {
  const id = newRequestId(worker);
  return {
    operation: operationOf(id),
    requestId: id,
    attempt: 1,
    chargedTo: 'gateway',
    status: isGood ? 'complete' : 'error',
    tenant: GATEWAY_TENANT,
    subject: 'probe',
    businessLine: 'probe',
    requestType: 'probe',
    route: 'probe',
    requestedModel: deployment.model,
    model: deployment.model,
    backend: deployment.backend.name,
    ...ledgerTokens(usage),
    estimated: usage.source === 'estimate',
    usageFlag: null,
    cost: costOf(usage, deployment.price, time),
    currency: deployment.price.currency,
    firstTokenMs: null,
    totalMs: Math.round(totalMs),
    time,
  };
}
