import type { Arrived, RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import type { LocalResponse } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Attempt, Note, Step } from '../core/station.ts';
import { GatewayError } from '../core/error.ts';
import type { AnyStation } from './pipeline.ts';

/** The context while it grows. One object a request, so that every station sees what the earlier ones added. */
export type GrowingContext = Omit<Arrived, 'deadline'> & { deadline: number } & {
  -readonly [K in Exclude<keyof RequestContext, keyof Arrived>]?: RequestContext[K] | undefined;
};

/** `null` when every station let the request through. */
export type WalkResult = LocalResponse | null;

type Moment = (station: AnyStation) => (() => MaybePromise<Step<object> | Note>) | null;

/**
 * Takes the stations in order through one moment, going on in the same turn whenever a station answers at once.
 * What a station throws comes out of here as a `GatewayError`, with the refusal in the trail.
 */
function walk(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  moment: Moment,
  from = 0,
): MaybePromise<WalkResult> {
  for (let index = from; index < stations.length; index += 1) {
    const station = stations[index] as AnyStation;
    const call = moment(station);
    if (call === null) continue;
    const began = performance.now();
    const settle = (step: Step<object> | Note): WalkResult => accept(ctx, station, step, began);
    const refuse = (reason: unknown): never => reject(ctx, station, reason, began);
    let step: MaybePromise<Step<object> | Note>;
    try {
      step = call();
    } catch (reason) {
      return refuse(reason);
    }
    if (isPromise(step)) {
      return step.then(settle, refuse).then((response) => response ?? walk(stations, ctx, moment, index + 1));
    }
    const response = settle(step);
    if (response !== null) return response;
  }
  return null;
}

function accept(ctx: GrowingContext, station: AnyStation, step: Step<object> | Note, began: number): WalkResult {
  const micros = microsSince(began);
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
  return Math.round((performance.now() - began) * 1000);
}

/** The head has come. */
export function walkHead(stations: readonly AnyStation[], ctx: GrowingContext): MaybePromise<WalkResult> {
  return walk(stations, ctx, ({ head }) => (head === undefined ? null : () => head(ctx)));
}

/** The body has come and is understood: every `run`, then, when it is `decided` who may serve, every `place`. */
export function walkRequest(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  decided: () => void = () => {},
): MaybePromise<WalkResult> {
  const whole = ctx as RequestContext;
  const ran = walk(stations, ctx, ({ run }) => (run === undefined ? null : () => run(whole)));
  const placeAll = (response: WalkResult): MaybePromise<WalkResult> => {
    if (response !== null) return response;
    decided();
    return walk(stations, ctx, ({ place }) => (place === undefined ? null : () => place(whole)));
  };
  return isPromise(ran) ? ran.then(placeAll) : placeAll(ran);
}

/** One try begins. */
export function walkAttempt(
  stations: readonly AnyStation[],
  ctx: RequestContext,
  attempt: Attempt,
): MaybePromise<WalkResult> {
  return walk(stations, ctx, ({ attempt: begin }) => (begin === undefined ? null : () => begin(ctx, attempt)));
}

/** The request is over: every `finish` in reverse order, each whatever became of the others. */
export async function walkFinish(
  stations: readonly AnyStation[],
  ctx: GrowingContext,
  ending: Ending,
  onFault: (station: string, reason: unknown) => void,
): Promise<void> {
  for (const station of stations.toReversed()) {
    try {
      await station.finish?.(ctx as Partial<RequestContext> & Arrived, ending);
    } catch (reason) {
      onFault(station.name, reason);
    }
  }
}
