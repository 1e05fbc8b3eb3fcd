import type { Arrived, Received, RequestContext } from '../core/context.ts';
import type { Station } from '../core/station.ts';

/** Any station, as the walk sees it: by the time a moment is called the context has what it asks for. */
export type AnyStation = Station<RequestContext>;

/**
 * The stations in their order. `via` accepts a station only where the context already has what its `run` reads, so a wrong
 * order does not compile. (The cast only forgets what a station adds: by then every context has it.)
 */
export class Pipeline<Ctx extends Arrived> {
  readonly stations: readonly AnyStation[];

  private constructor(stations: readonly AnyStation[]) {
    this.stations = stations;
  }

  static start(): Pipeline<Arrived & Received> {
    return new Pipeline<Arrived & Received>([]);
  }

  via<Adds extends object>(station: Station<Ctx, Adds>): Pipeline<Ctx & Adds> {
    return new Pipeline<Ctx & Adds>([...this.stations, station as unknown as AnyStation]);
  }
}
