import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Ending } from '../../core/ending.ts';
import type { Json } from '../../core/json.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { LimitLine } from '../../core/limit.ts';
import { priceAt } from '../../core/money.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { takenBy } from '../../core/settlement.ts';

/**
 * What a request booked, whole, so that the ledger and its counters can be made from the audit: the events as the ledger has
 * them and since when their price holds (`priceFrom`, Unix milliseconds, null = from the beginning), what was taken, and from
 * which limits. Null where nothing was booked.
 */
export function bookingFacts(ctx: Partial<RequestContext> & Arrived, ending: Ending): Json {
  const { admission } = ctx;
  if (admission === undefined || ending.events.length === 0) return null;
  const tells = admission.kind === 'held' || admission.mayHold || ending.events.some(({ attempt }) => attempt > 0);
  if (!tells) return null;
  const lines = admission.kind === 'held' ? admission.limits.map(({ line }) => line) : [];
  return {
    events: ending.events.map((event) => ({ ...event, priceFrom: priceFrom(ctx.config, event) })),
    lines: lines.flatMap(lineFacts),
    taken: { ...takenBy(ending) },
  };
}

/** What is open at one moment ends with the request: there is nothing of it to make again. */
function lineFacts({ scope, unit, window }: LimitLine): readonly Json[] {
  switch (window.kind) {
    case 'concurrent':
      return [];
    case 'sliding':
      return [{ scope, unit, seconds: window.seconds }];
    case 'calendar':
      return [{ scope, unit, period: window.unit, zone: window.zone ?? 'UTC' }];
  }
}

function priceFrom({ models }: Snapshot, { model, backend, time }: LedgerEvent): number | null {
  const deployment = models.get(model)?.deployments.find((each) => each.backend.name === backend);
  return deployment === undefined ? null : (priceAt(deployment.price, time).validFrom ?? null);
}
