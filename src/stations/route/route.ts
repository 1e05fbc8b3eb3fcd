import type { Routed } from '../../core/context.ts';
import type { Candidate, Decision, Place } from '../../core/decision.ts';
import { GatewayError } from '../../core/error.ts';
import { oncePer } from '../../core/once-per.ts';
import { CONFIGURED_STAGES, type StageView } from '../../core/ports/stage-view.ts';
import { NO_PROTECTION, type ProtectionView } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { type DirectoryView, NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Model, Route, Snapshot } from '../../core/snapshot.ts';
import type { Station } from '../../core/station.ts';
import { createEngine, type Engine } from '../../routing/engine.ts';
import { underProtection, withinTier } from './cost-rules.ts';
import { classWords, RequestClasses } from './classify.ts';
import { readCanaryShare } from './canary-share.ts';
import { namedModel } from './eligible.ts';
import type { Asked, Supports } from './eligible.ts';
import type { RouteContext, RuleContext } from './match-inputs.ts';
import { type Group, only } from './group.ts';
import { type Ordered, orderGroups } from './order-groups.ts';
import { nameOf } from '../../core/places.ts';
import { rankCandidates } from './rank-candidates.ts';
import { ReplayRules } from './replay-rules.ts';
import { RoutingTable } from './routing-table.ts';
import type { RoutingTableOptions, Taken } from './routing-table.ts';
import { ScoreRules } from './score-rules.ts';
import { type Separated, separate } from './separate.ts';
import { splitOf } from './split.ts';
import { diversionWords, divertedTo } from './surge-divert.ts';
import { targetOf, workOf } from './targets.ts';
import { warmthOf } from './warmth.ts';
import { healthOf } from './whole-deployment.ts';

export interface RouteOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Which dialects can serve which endpoints. */
  readonly supports: Supports;
  /** Numbers in [0, 1) for the draw. */
  readonly random?: () => number;
  /** How many answers of the rules are remembered, for how long, and for rules of which size on (nodes of all together). */
  readonly cache?: RoutingTableOptions['cache'];
  /** Cost tiers of business lines. */
  readonly directory?: DirectoryView;
  /** Who is in cost protection. */
  readonly protection?: ProtectionView;
  /** Where deployments stand. */
  readonly stages?: StageView;
  /** What is known of who could serve. */
  readonly engine?: Engine;
}

/** The station, and what it would decide now: a preview counts nowhere. Throws what a request would be refused with. */
export interface RouteStation extends Station<RouteContext, Routed> {
  /** The route that it would take; before anything is reserved, rules that read what is left see -1. Throws likewise. */
  readonly routeOf: (ctx: RuleContext) => Route;
  /** The decision anew, for a request that waited; it counts as load where it goes now. */
  readonly again: (ctx: RouteContext) => Decision;
  readonly preview: (ctx: RouteContext) => { readonly decision: Decision; readonly words: string };
}

interface Decided {
  readonly decision: Decision;
  readonly leftOut: Ordered['leftOut'];
  readonly affinity: Ordered['affinity'];
  /** What finding the class took, milliseconds. */
  readonly classMs: number;
  readonly words: string;
}

/** Nodes of all rules from which on it costs less to remember what they said: `bench/micro/decision-cache.ts`. */
const REMEMBERED_SIZE = 40;

/** The name that asks for a model of our choice. */
const AUTO = 'auto';
/** The route that a configuration ends with when it has none for everything. */
const DEFAULT = 'default';

interface Way {
  readonly route: Route;
  readonly reason: Decision['reason'];
}

/**
 * Makes the station that decides who may serve. It reads the configuration of each request; compiled rules belong to one
 * configuration and go with it.
 */
export function createRoute({
  log,
  metrics,
  clock,
  supports,
  random = Math.random,
  cache = { entries: 10_000, ttlMs: 10_000, fromSize: REMEMBERED_SIZE },
  directory = NO_DIRECTORY,
  protection = NO_PROTECTION,
  stages = CONFIGURED_STAGES,
  engine = createEngine({ random }),
}: RouteOptions): RouteStation {
  const rulesOf = oncePer((config: Snapshot) => new ScoreRules({ config, metrics, log }));
  const classesOf = oncePer((config: Snapshot) => new RequestClasses({ config, metrics, log, clock }));
  const replayOf = oncePer((config: Snapshot) => new ReplayRules({ config, metrics, log }));
  const tableOf = oncePer((config: Snapshot) => new RoutingTable({ config, supports, clock, log, metrics, cache }));

  function decideOn(ctx: RouteContext, now: number, isPreview = false): Decided {
    const { config } = ctx;
    const asked = askedOf(ctx);
    const taken = tableOf(config).take(ctx, asked);
    const { route, reason } = wayOf(config, asked, taken);
    const faults = [...taken.faults];
    const { classified, classOf, classMs } = classesOf(config).of(route, ctx, (fault) => faults.push(fault));
    const { share, note } = readCanaryShare(ctx);
    const diverted = divertedTo(ctx, route, asked);
    const adjust = rulesOf(config).adjust(route.id, ctx, (fault) => faults.push(fault));
    const mayReplay = replayOf(config).allows(route, ctx, (fault) => faults.push(fault));
    const asking = { ctx, route, asked, class: classified?.class ?? null, share, diverted, now };
    const may = whoMay(asking, { supports, random, directory, stages, engine });
    const ordered = orderGroups(
      { ctx, groups: may.groups, barred: may.barred, adjust, classOf, isPreview, now },
      engine,
    );
    const { candidates: usual, insteadOf, leftOut, judged, affinity } = ordered;
    const saving = underProtection({ ctx, route, usual, protection, now: clock.time() });
    const { candidates } = saving;
    const isDiverted = diverted !== null && candidates[0].deployment.model === diverted;
    const isSpilled = [...may.spilled].some(({ deployment }) => deployment === candidates[0].deployment);
    const fallbackReason = saving.fallbackReason ?? (isDiverted ? 'surge' : isSpilled ? 'zone' : insteadOf);
    const words = wordsOf(
      `${candidates.length} candidates, first ${nameOf(candidates[0])} (${candidates[0].reason})`,
      taken.cached ? 'rules remembered' : null,
      ...faults.map((fault) => `rule failed: ${fault}`),
      classWords(classified),
      note,
      may.note,
      insteadOf === null ? null : `another one than usual: ${insteadOf}`,
      saving.note,
      diversionWords(diverted, isDiverted),
    );
    const decision = { route, reason, candidates, cached: taken.cached, fallbackReason, mayReplay, judged, classified };
    return { decision, leftOut, affinity, classMs, words };
  }

  function decideAndHold(ctx: RouteContext): Decided {
    const now = clock.now();
    const decided = decideOn(ctx, now);
    hold(engine, ctx, decided.decision.candidates[0], now);
    return decided;
  }

  return {
    name: 'route',
    run: (ctx) => {
      const decided = decideAndHold(ctx);
      const { decision, words } = decided;
      tell(metrics, decided);
      return { note: { decision: decision.route.id, reason: words }, adds: { decision } };
    },
    again: (ctx) => decideAndHold(ctx).decision,
    routeOf: (ctx) => wayOf(ctx.config, askedOf(ctx), tableOf(ctx.config).take(ctx, askedOf(ctx))).route,
    finish: ({ id }) => engine.tries.drop(id, clock.now()),
    preview: (ctx) => decideOn(ctx, clock.now(), true),
  };
}

interface Asking {
  readonly ctx: RouteContext;
  readonly route: Route;
  readonly asked: Asked;
  readonly class: string | null;
  readonly share: number | null;
  readonly diverted: string | null;
  readonly now: number;
}

/** Everyone who may serve a request, whatever the load, in groups. Throws when nobody may. */
function whoMay(
  { ctx, route, asked, class: named, share, diverted, now }: Asking,
  {
    supports,
    random,
    directory,
    stages,
    engine,
  }: Required<Pick<RouteOptions, 'supports' | 'random' | 'directory' | 'stages' | 'engine'>>,
): Separated {
  const split = splitOf({ ctx, route, share, random });
  const groups = rankCandidates({
    config: ctx.config,
    route,
    asked,
    class: named,
    canaryShare: share,
    diverted,
    supports,
    random: split.random,
    canaryDraw: split.canaryDraw,
    healthOf: (deployment) => healthOf(deployment, engine.board, now),
  });
  const affordable = withinTier(flat(groups), ctx.principal, directory);
  const fit = new Set(fitting(ctx, affordable.candidates));
  const wished = share === null ? null : split.canaryDraw() < share;
  const apart = separate({ ctx, route, groups: only(groups, fit), stages, wished, board: engine.board, now });
  return { ...apart, note: wordsOf(affordable.note, apart.note) || null };
}

function tell(metrics: Metrics, { decision, leftOut, affinity, classMs }: Decided): void {
  if (decision.classified !== null) metrics.classified(decision.classified, classMs);
  for (const { deployment, why } of leftOut) metrics.leftOut(deployment, why);
  if (decision.fallbackReason === 'surge') metrics.surgeAction('diverted');
  if (affinity !== null) metrics.affinity(decision.candidates[0].deployment.model, affinity);
}

/** Counts as load from now on, and what it will have warm as warm. */
function hold({ tries }: Engine, ctx: RouteContext, first: Place, now: number): void {
  const work = { ...workOf(ctx), outputTokens: 0, warm: warmthOf(ctx).warm(first.deployment.model) };
  tries.decided(ctx.id, targetOf(first, 1, first.deployment.profile.quality, ctx.time), work, now, ctx.deadline);
}

const wordsOf = (...words: readonly (string | null)[]): string => words.filter((word) => word !== null).join('; ');

const flat = (groups: readonly Group[]): readonly Candidate[] => groups.flatMap(({ candidates }) => candidates);

function askedOf({ config, request, principal }: RuleContext): Asked {
  const name = request.model;
  const target = config.aliases.get(name) ?? name;
  return { name, target, endpoint: request.endpoint, canary: principal.scopes.has('canary') };
}

/** The route that took the request, else the way to the model that it names. Throws for a name that leads nowhere. */
function wayOf(config: Snapshot, asked: Asked, { route }: Taken): Way {
  if (route !== null && (route.id !== DEFAULT || route.candidates.length > 0)) {
    return { route, reason: route.id === DEFAULT ? 'default' : 'match' };
  }
  const model = namedModel(config, asked);
  if (model !== null) return { route: routeToModel(config, model, route), reason: 'model' };
  if (asked.name === AUTO) {
    throw new GatewayError('no_candidate', `No route takes this request for '${AUTO}'. Ask for a model by its name.`);
  }
  throw new GatewayError('model_not_found', `The model '${shown(asked.name)}' does not exist.`, { param: 'model' });
}

/** A route of its own for a model asked for by name, with the rules of the default route where there is one. */
function routeToModel(config: Snapshot, { name }: Model, base: Route | null): Route {
  const { onStoreError } = config.ledger;
  const rules = base ?? {
    match: null,
    candidates: [],
    fallback: [],
    onStoreError,
    timeoutMs: null,
    protect: 'cheaper' as const,
    divert: false,
    reduceN: false,
    replay: null,
    score: null,
    classifier: null,
    scoreFor: new Map(),
  };
  return { ...rules, id: `model:${name}`, models: [name] };
}

/** Leaves out whose context is too small. Throws when nobody is left, and says whether that is the reason. */
function fitting({ request }: RouteContext, ranked: readonly Candidate[]): Decision['candidates'] {
  const needed = request.promptTokens + (request.maxOutputTokens ?? 0);
  const contexts = ranked.map(({ deployment }) => deployment.profile.context);
  // 0 = not known.
  const [first, ...rest] = ranked.filter((_, at) => contexts[at] === 0 || Number(contexts[at]) >= needed);
  if (first !== undefined) return [first, ...rest];
  if (ranked.length === 0) {
    const message = `No backend of '${shown(request.model)}' serves the endpoint '${request.endpoint}'.`;
    throw new GatewayError('unsupported_endpoint', message, { param: 'model' });
  }
  const param = request.endpoint === 'chat' ? 'messages' : request.endpoint === 'embeddings' ? 'input' : 'prompt';
  throw new GatewayError(
    'context_length_exceeded',
    `The maximum context length is ${Math.max(...contexts)} tokens, but this request needs about ${needed} ` +
      `(${request.promptTokens} in the prompt, ${request.maxOutputTokens ?? 0} for the answer).`,
    { param },
  );
}

/** A client's own text in an answer to it, kept short. */
function shown(text: string): string {
  return text.length <= 128 ? text : `${text.slice(0, 128)}…`;
}
