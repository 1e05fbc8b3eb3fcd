import { isBatchWork } from '../../core/batch-work.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import type { StageView } from '../../core/ports/stage-view.ts';
import type { Route } from '../../core/snapshot.ts';
import type { Zone } from '../../core/zone.ts';
import type { Board } from '../../routing/board.ts';
import { isGray, ledTo } from './gray.ts';
import { type Barred, type Group, only, type Weighted } from './group.ts';
import { barredAs } from './judged.ts';
import type { RouteContext } from './match-inputs.ts';
import { runningOf } from './whole-deployment.ts';

export interface Separated {
  /** Those that the request is led to, those of its own zone, those that stand in. */
  readonly groups: readonly Group[];
  readonly barred: readonly Barred[];
  /** Those that stand in for the request's own zone. */
  readonly spilled: ReadonlySet<Weighted>;
  readonly note: string | null;
}

export interface SeparateOptions {
  readonly ctx: RouteContext;
  readonly route: Route;
  readonly groups: readonly Group[];
  readonly stages: StageView;
  readonly wished: boolean | null;
  readonly board: Board;
  /** Monotonic milliseconds. */
  readonly now: number;
}

interface Rooms {
  readonly own: Zone;
  /** Null: nobody stands in now. */
  readonly spill: Zone | null;
  /** The own zone is full: who stands in comes first. */
  readonly isFull: boolean;
  readonly note: string | null;
}

/** Does nothing to a request where every deployment is full and zones are not told apart. Throws when nobody may serve it. */
export function separate(options: SeparateOptions): Separated {
  const { ctx, groups, stages } = options;
  const { zones } = ctx.config;
  const all = groups.flatMap(({ candidates }) => candidates);
  const isPlain = ({ deployment }: Weighted): boolean =>
    stages.of(deployment).stage === 'full' && deployment.backend.zone !== 'gray';
  if (zones === undefined && all.every(isPlain)) return { groups, barred: [], spilled: new Set(), note: null };
  const isRetired = ({ deployment }: Weighted): boolean => stages.of(deployment).stage === 'retired';
  const gray = all.filter((each) => !isRetired(each) && isGray(each.deployment, stages));
  // Drawn by its route already: it keeps its place.
  const led = ledTo(
    gray.filter(({ reason }) => reason !== 'canary'),
    options,
  );
  const usual = all.filter((each) => isPlain(each) || (gray.includes(each) && each.reason === 'canary'));
  const rooms = roomsOf(usual, options);
  const zoneOf = ({ deployment }: Weighted): Zone => {
    const { zone = 'hot' } = deployment.backend;
    return zones === undefined || zone === 'gray' ? rooms.own : zone;
  };
  const own = new Set(usual.filter((each) => zoneOf(each) === rooms.own));
  const spilled = new Set(usual.filter((each) => rooms.spill !== null && zoneOf(each) === rooms.spill));
  const barred = all
    .filter((each) => !led.has(each) && !own.has(each) && !spilled.has(each))
    .map((candidate): Barred => ({ candidate, why: isBarredByStage(candidate, stages) ? 'stage' : 'zone' }));
  const ordered = rooms.isFull ? [spilled, own] : [own, spilled];
  const kept = [only(groups, led, 'canary'), ...ordered.map((set) => only(groups, set))].flat();
  if (kept.length === 0) throw refusal(barred, options);
  return { groups: kept, barred, spilled, note: rooms.note };
}

function isBarredByStage({ deployment }: Weighted, stages: StageView): boolean {
  return stages.of(deployment).stage !== 'full';
}

/** The zone of a request: its route's, else by whether it is batch work. A route that leads to gray ones is as hot as its requests are. */
export function zoneOfRequest(ctx: RouteContext, route: Pick<Route, 'zone' | 'priority'>): Zone {
  if (route.zone === 'hot' || route.zone === 'batch') return route.zone;
  return isBatchWork(ctx, route) ? 'batch' : 'hot';
}

function roomsOf(usual: readonly Weighted[], { ctx, route, board }: SeparateOptions): Rooms {
  const { zones } = ctx.config;
  const own = zoneOfRequest(ctx, route);
  if (zones === undefined) return { own, spill: null, isFull: false, note: null };
  const inZone = (zone: Zone): readonly Weighted[] =>
    usual.filter(({ deployment }) => (deployment.backend.zone ?? 'hot') === zone);
  const hot = saturationOf(inZone('hot'), board);
  const shown = hot === null ? 'not known' : String(Math.round(hot * 100) / 100);
  if (own === 'batch') {
    // What is not measured may be full.
    const mayUseHot = hot !== null && hot < zones.hotBelow;
    const batch = saturationOf(inZone('batch'), board);
    return {
      own,
      spill: mayUseHot ? 'hot' : null,
      isFull: mayUseHot && batch !== null && batch >= 1,
      note: `batch work, hot saturation ${shown}`,
    };
  }
  const mayUseBatch = zones.spillAbove !== null && hot !== null && hot >= zones.spillAbove;
  return {
    own,
    spill: mayUseBatch ? 'batch' : null,
    isFull: mayUseBatch,
    note: mayUseBatch ? `hot saturation ${shown}: batch backends stand in` : null,
  };
}

/** The part of the requests at once that run, over those with a bound; null where none has one. */
function saturationOf(candidates: readonly Weighted[], board: Pick<Board, 'runningOf'>): number | null {
  let running = 0;
  let room = 0;
  for (const { deployment } of candidates) {
    if (deployment.concurrency === null) continue;
    room += deployment.concurrency.limit;
    running += runningOf(deployment, board);
  }
  return room === 0 ? null : running / room;
}

function refusal(barred: readonly Barred[], { ctx, route, board, now }: SeparateOptions): NobodyLeft {
  const { zones } = ctx.config;
  const judged = () => barred.map((one) => barredAs(one, board, now));
  const waits = barred.some(
    ({ why, candidate }) => why === 'zone' && (candidate.deployment.backend.zone ?? 'hot') === 'hot',
  );
  if (waits && zoneOfRequest(ctx, route) === 'batch')
    return new NobodyLeft('zone_saturated', 'There is no room for batch work now. Please try again later.', {
      judged,
      retryAfterMs: zones?.retryAfterMs ?? 1000,
      headers: [['x-fallback-reason', 'zone']],
    });
  // Asked for by its name, what nobody may use now is not there, as a gray or retired model is not.
  if (route.id.startsWith('model:') && barred.every(({ why }) => why === 'stage'))
    return new NobodyLeft('model_not_found', `The model '${ctx.request.model}' does not exist.`, {
      judged,
      param: 'model',
    });
  const [first] = barred;
  return new NobodyLeft('no_candidate', 'No backend of the model is there for this request.', {
    judged,
    headers: first === undefined ? [] : [['x-fallback-reason', first.why]],
  });
}
