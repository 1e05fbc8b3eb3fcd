import type { LedgerEvent } from '../../src/core/ledger-event.ts';

/** Some booking, with `over` laid over it. */
export function ledgerEvent(
  over: { readonly [field in keyof LedgerEvent]?: LedgerEvent[field] | string | number } = {},
): LedgerEvent {
  return {
    operation: '0-000000000000000000000001',
    requestId: 'req-1',
    attempt: 1,
    chargedTo: 'tenant',
    status: 'complete',
    tenant: 'acme',
    subject: 'ann',
    businessLine: 'search',
    requestType: 'chat',
    route: 'default',
    requestedModel: 'm',
    model: 'm',
    backend: 'b',
    promptTokens: 100,
    cachedTokens: 0,
    completionTokens: 10,
    reasoningTokens: 0,
    estimated: false,
    usageFlag: null,
    cost: 1000,
    currency: 'USD',
    firstTokenMs: 12.5,
    totalMs: 99.25,
    time: Date.UTC(2026, 5, 1, 12),
    ...over,
  } as LedgerEvent;
}
