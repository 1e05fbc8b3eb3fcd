import type { Arrived, RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import type { LocalResponse } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Attempt, Note, Step } from '../core/station.ts';
import { GatewayError } from '../core/error.ts';
import type { AnyStation } from './pipeline.ts';

/** The context while it grows. One object a request, so that every station sees what the earlier ones added. */
export type GrowingContext = Omit<Arrived, 'deadline' | 'config' | 'rollout' | 'operation'> & {
  operation: Arrived['operation'];
  deadline: number;
  config: Arrived['config'];
  rollout?: Arrived['rollout'];
} & {
  -readonly [K in Exclude<keyof RequestContext, keyof Arrived>]?: RequestContext[K] | undefined;
};

/** `null` when every station let the request through. */
export type WalkResult = LocalResponse | null;

type Said = Step<object> | Note;

/** What a station does at one moment; null where it has nothing to do then. A function of its own, not one made a call. */
type Moment = (station: AnyStation, ctx: GrowingContext, attempt: Attempt | null) => MaybePromise<Said> | null;

const atHead: Moment = (station, ctx) => station.head?.(ctx) ?? null;
const atRun: Moment = (station, ctx) => station.run?.(ctx as RequestContext) ?? null;
const atPlace: Moment = (station, ctx) => station.place?.(ctx as RequestContext) ?? null;
const atAttempt: Moment = (station, ctx, attempt) =>
  attempt === null ? null : (station.attempt?.(ctx as RequestContext, attempt) ?? null);

interface Way {
  readonly attempt?: Attempt | null;
  readonly from?: number;
  /** Did the request end while a station was waited for? Its `finish` was then, so nothing more may be begun for it. */
  readonly isOver?: () => boolean;
}

const never = (): boolean => false;

/**
 * Takes the stations in order through one moment, going on in the same turn whenever a station answers at once.
 * What a station throws comes out of here as a `GatewayError`, with the refusal in the trail.
 */
function walk(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  moment: Moment,
  { attempt = null, from = 0, isOver = never }: Way = {},
): MaybePromise<WalkResult> {
  let began = performance.now();
  for (let index = from; index < stations.length; index += 1) {
    const station = stations[index] as AnyStation;
    let said: MaybePromise<Said> | null;
    try {
      said = moment(station, ctx, attempt);
    } catch (reason) {
      return reject(ctx, station, reason, began);
    }
    if (said === null) continue;
    if (isPromise(said)) {
      const since = began;
      const goOn = (): MaybePromise<WalkResult> =>
        isOver() ? null : walk(stations, ctx, moment, { attempt, from: index + 1, isOver });
      return said.then(
        (step) => accept(ctx, station, step, microsSince(since)) ?? goOn(),
        (reason: unknown) => reject(ctx, station, reason, since),
      );
    }
    const now = performance.now();
    const response = accept(ctx, station, said, microsBetween(began, now));
    if (response !== null) return response;
    began = now;
  }
  return null;
}

function accept(ctx: GrowingContext, station: AnyStation, step: Step<object> | Note, micros: number): WalkResult {
  if ('respond' in step) {
    ctx.trail.note(station.name, micros, 'answered', `status ${step.respond.status}`);
    return step.respond;
  }
  const note = 'note' in step ? step.note : step;
  if ('adds' in step) Object.assign(ctx, step.adds);
  ctx.trail.note(station.name, micros, note.decision, note.reason);
  return null;
}

function reject(ctx: GrowingContext, station: AnyStation, reason: unknown, began: number): never {
  const error = GatewayError.from(reason);
  // A refusal's cause is the station's own word on it; a fault's cause is for the log alone.
  const told = error.code !== 'internal_error' && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  ctx.trail.note(station.name, microsSince(began), 'refused', `${error.code}${told}`);
  throw error;
}

export function microsSince(began: number): number {
  return microsBetween(began, performance.now());
}

function microsBetween(began: number, ended: number): number {
  return Math.round((ended - began) * 1000);
}

/** The head has come. */
export function walkHead(stations: readonly AnyStation[], ctx: GrowingContext): MaybePromise<WalkResult> {
  return walk(stations, ctx, atHead);
}

export interface WalkRequestOptions {
  /** It is known who may serve. */
  readonly decided?: () => void;
  /** Once it is, no further station is asked. */
  readonly isOver?: () => boolean;
}

/** The body has come and is understood: every `run`, then, when it is `decided` who may serve, every `place`. */
export function walkRequest(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  { decided = () => {}, isOver = never }: WalkRequestOptions = {},
): MaybePromise<WalkResult> {
  const ran = walk(stations, ctx, atRun, { isOver });
  const placeAll = (response: WalkResult): MaybePromise<WalkResult> => {
    if (response !== null || isOver()) return response;
    decided();
    return walk(stations, ctx, atPlace, { isOver });
  };
  return isPromise(ran) ? ran.then(placeAll) : placeAll(ran);
}

/** One try begins. */
export function walkAttempt(
  stations: readonly AnyStation[],
  ctx: RequestContext,
  attempt: Attempt,
): MaybePromise<WalkResult> {
  return walk(stations, ctx, atAttempt, { attempt });
}

type Ctx = Partial<RequestContext> & Arrived;
type OnFault = (station: string, reason: unknown) => void;

/**
 * The request is over: every `finish` in reverse order, each whatever became of the others, going on in the same turn whenever
 * one is done at once. Never throws.
 */
export function walkFinish(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  ending: Ending,
  onFault: OnFault,
): MaybePromise<void> {
  return finishFrom(stations.length - 1, stations, ctx as Ctx, ending, onFault);
}

function finishFrom(
  last: number,
  stations: readonly AnyStation[],
  ctx: Ctx,
  ending: Ending,
  onFault: OnFault,
): MaybePromise<void> {
  for (let index = last; index >= 0; index -= 1) {
    const station = stations[index] as AnyStation;
    try {
      const work = station.finish?.(ctx, ending);
      if (work === undefined || !isPromise(work)) continue;
      return work
        .catch((reason: unknown) => onFault(station.name, reason))
        .then(() => finishFrom(index - 1, stations, ctx, ending, onFault));
    } catch (reason) {
      onFault(station.name, reason);
    }
  }
}
