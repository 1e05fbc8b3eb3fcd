/** What high load demands of requests. */
export interface SurgeRules {
  /** Requests for more choices are cut down or refused; null = any number passes. */
  readonly largestN: number | null;
  /** This share of the tenants (0..1) is served by a light model, on routes that allow it. */
  readonly divert: { readonly share: number; readonly model: string } | null;
  /** Upstreams are asked for whole answers, though clients get streams. */
  readonly bufferStreams: boolean;
}

/** A level of load. Its rules hold those of the levels below. */
export interface SurgeLevel extends SurgeRules {
  /** Requests a second, of all workers of all replicas, above which it is entered. */
  readonly above: number;
}

export interface SurgePolicy {
  /** Ascending, at least one. Level 1 is the first. */
  readonly levels: readonly SurgeLevel[];
  /** A level is left when the rate was below this part of its `above` for `leaveAfterMs`. */
  readonly leaveBelow: number;
  readonly leaveAfterMs: number;
  /** Tenants of these tiers are spared. */
  readonly exemptTiers: ReadonlySet<string>;
}

/** What the level of load made of one request. */
export interface Surged {
  /** At least 1: the level when the request came. */
  readonly level: number;
  readonly divert: SurgeRules['divert'];
  /** It asked for more choices than it gets, as its caller or its route allows. */
  readonly reduced: { readonly from: number; readonly to: number; readonly by: 'caller' | 'route' } | null;
  /** Its upstream is asked for a whole answer, though the client gets a stream. */
  readonly buffered: boolean;
}

/** What is done about requests under high load, as metrics and traces tell it. */
export type SurgeAction = 'refused_n' | 'reduced_n' | 'diverted' | 'buffered';
