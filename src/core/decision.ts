import type { Classified } from './classifier.ts';
import { OUT_REASONS } from './finding.ts';
import type { Endpoint } from './endpoint.ts';
import type { Deployment, Route } from './snapshot.ts';

/**
 * Why a candidate stands where it does, as `x-route-reason` tells it. The list is closed: `explicit` it was asked for,
 * `weighted` and `canary` it was drawn, `warm` it has the session or the beginning of the prompt, `best_score` and `least_loaded` it was the best, `probe` its breaker wanted a look,
 * `last_resort` nobody was as he should be, `fallback` others failed or could not.
 */
export type CandidateReason =
  | 'explicit'
  | 'weighted'
  | 'canary'
  | 'warm'
  | 'best_score'
  | 'least_loaded'
  | 'probe'
  | 'last_resort'
  | 'fallback';

/** Where a request may be served: a deployment, and which endpoint of its backend where that is a pool. */
export interface Place {
  readonly deployment: Deployment;
  readonly endpoint?: Endpoint;
}

/** A place that may serve a request. */
export interface Candidate extends Place {
  readonly reason: CandidateReason;
}

/** Why a candidate that could have served was left out. Closed, too: headers, audit and metrics use it. */
export const LEFT_OUT = [
  'circuit_breaker_open',
  'cooling_down',
  'latency_budget',
  'stage',
  'zone',
  ...OUT_REASONS,
] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

/** Why others than usual may serve, as `x-fallback-reason` tells it. */
export type FallbackReason = 'budget_exhausted' | 'surge' | LeftOut;

/** One candidate as it was judged, for traces and the audit. Figures are rounded to three digits. */
export interface Judged {
  /** With the endpoint where its backend is a pool: `model@backend/ip:port`. */
  readonly deployment: string;
  /** 1 = first; null = left out. */
  readonly place: number | null;
  readonly reason: CandidateReason | LeftOut;
  /** 0..1, 1 is best; null where nothing is scored. */
  readonly terms: { readonly cost: number; readonly latency: number; readonly quality: number } | null;
  /** Score before and after load; null where nothing is scored. */
  readonly utility: number | null;
  readonly value: number | null;
  readonly health: number;
  readonly running: number;
  readonly load: number;
  /** Part of the prompt's blocks, or 1 of a session, that it was sent before and may have yet, 0..1; null = that does not count. */
  readonly warm: number | null;
  /** How long it would probably take, milliseconds; null = not known. */
  readonly estimateMs: number | null;
  /** What it would probably cost, micro-units. */
  readonly estimateCost: number;
  readonly weight: number;
}

/** Which route was taken, why, and who may serve, best first. */
export interface Decision {
  readonly route: Route;
  readonly reason: 'model' | 'match' | 'default';
  readonly candidates: readonly [Candidate, ...Candidate[]];
  readonly cached: boolean;
  /** Null when it is as usual. */
  readonly fallbackReason: FallbackReason | null;
  /** Null where the route has no classifier. */
  readonly classified: Classified | null;
  /** May another backend be asked when one took the request and never answered? */
  readonly mayReplay: boolean;
  /** Everybody who was looked at. Made when it is read. */
  readonly judged: () => readonly Judged[];
}
