import type { Ending } from '../../core/ending.ts';
import type { Deployment } from '../../core/snapshot.ts';

/** What a request took of a deployment, over all its tries there: by its ledger events; nothing where none was made. */
export function tokensAt({ events }: Pick<Ending, 'events'>, { model, backend }: Deployment): number {
  return events.reduce(
    (sum, event) =>
      event.attempt > 0 && event.model === model && event.backend === backend.name
        ? sum + event.promptTokens + event.completionTokens
        : sum,
    0,
  );
}
