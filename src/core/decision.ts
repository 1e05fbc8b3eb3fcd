import type { Deployment, Route } from './snapshot.ts';

/** A deployment that may serve a request. */
export interface Candidate {
  readonly deployment: Deployment;
  /** Why it stands in the list, from a closed set. */
  readonly reason: 'explicit' | 'weighted' | 'fallback' | 'canary';
}

/** Which route was taken, why, and who may serve, best first. */
export interface Decision {
  readonly route: Route;
  readonly reason: 'model' | 'match' | 'default';
  readonly candidates: readonly [Candidate, ...Candidate[]];
  readonly cached: boolean;
  /** Why others than usual may serve, as `x-fallback-reason` tells it; null when it is as usual. */
  readonly fallbackReason: 'budget_exhausted' | null;
}
