import type { Ending } from './ending.ts';
import type { Amounts } from './limit.ts';
import { totalTokens } from './usage.ts';

export const NOTHING: Amounts = { requests: 0, tokens: 0, spend: 0 };

/** What a request that was admitted really took. One that we refused afterwards leaves all counters as they were. */
export function takenBy(ending: Ending): Amounts {
  const reached = ending.kind === 'complete' || ending.attempts.length > 0;
  return reached ? { requests: 1, tokens: totalTokens(ending.usage), spend: spentOn(ending) } : NOTHING;
}

/** What the tenant pays: tries thrown away are the gateway's. */
function spentOn({ events }: Ending): number {
  const total = events.reduce((sum, event) => sum + (event.chargedTo === 'tenant' ? event.cost : 0), 0);
  return Math.min(total, Number.MAX_SAFE_INTEGER);
}
