import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { MISSING, named, type View } from './view.ts';

/** One booking in the reports' words. */
export function bookingView(event: LedgerEvent): View {
  return named('ledger', {
    status: () => event.status,
    input_tokens: () => event.promptTokens,
    output_tokens: () => event.completionTokens,
    cached_input_tokens: () => event.cachedTokens,
    cost: () => event.cost / 1_000_000,
    estimated: () => event.estimated,
    requested_model: () => event.requestedModel,
    served_model: () => event.model,
    usage_flagged: () => event.usageFlag !== null,
  });
}

/** Bookings of a case. Those of tries that were thrown away are the gateway's own: only `[attempt=NAME]` shows them. */
export function ledgerView(events: readonly LedgerEvent[]): View {
  const billed = events.filter(({ chargedTo }) => chargedTo === 'tenant');
  const views = billed.map((event) => bookingView(event));
  const counts = named('ledger', { count: () => billed.length, billed_count: () => billed.length });
  return {
    isView: true,
    items: views,
    at(key) {
      const backend = /^attempt=(.+)$/.exec(key)?.[1];
      if (backend === undefined) return views[Number(key)] ?? MISSING;
      const event = events.find((one) => one.backend === backend);
      return event === undefined ? MISSING : bookingView(event);
    },
    get: (name) => counts.get(name),
  };
}
