import type { Arrived, Authenticated, Received, Sheltered } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { SurgeView } from '../../core/ports/surge.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Route, Snapshot } from '../../core/snapshot.ts';
import type { Note, Station, Step } from '../../core/station.ts';
import type { Surged, SurgeLevel } from '../../core/surge.ts';
import { reduceChoices } from './reduce-choices.ts';

type GuardContext = Arrived & Authenticated & Received & Sheltered;

/** What it adds: the request itself where it was cut down. */
type Guarded = Sheltered & Partial<Received>;

export interface SurgeGuardOptions {
  readonly surge: SurgeView;
  readonly metrics: Pick<Metrics, 'surgeAction'>;
  /** The route that the request would take now. Throws what it would be refused with for having none. */
  readonly routeOf: (ctx: GuardContext) => Pick<Route, 'reduceN'>;
}

/** Names what a caller takes in another form than asked for: `n` for fewer choices. */
const ACCEPT = 'x-accept-adapted';
const USUAL: Step<Guarded> = { note: { decision: 'usual', reason: 'load as usual' }, adds: {} };
const PASSED: Note = { decision: 'usual', reason: 'load as usual' };

/**
 * What high load makes of requests before anything is reserved for them. `head` counts the request and fixes its level, with
 * nothing but the head at hand; `run` cuts down or refuses; `place` refuses what a route turned out not to allow after all.
 */
export function createSurgeGuard({ surge, metrics, routeOf }: SurgeGuardOptions): Station<GuardContext, Guarded> {
  function refuse(ctx: GuardContext, level: number, largest: number): GatewayError {
    metrics.surgeAction('refused_n');
    const { endpoint, config } = ctx;
    const name = endpoint === 'completions' && !isAsked(ctx, 'n', largest) ? 'best_of' : 'n';
    return new GatewayError(
      'surge_protection',
      `The gateway is under high load and takes requests with ${name} up to ${largest} only. Send ${name}: ${largest}, allow fewer choices by the header ${ACCEPT}: n, or try again later.`,
      {
        param: name,
        retryAfterMs: config.surge?.leaveAfterMs ?? 1000,
        headers: [
          ['x-tokenlat-surge', String(level)],
          ['x-tokenlat-largest-n', String(largest)],
        ],
      },
    );
  }

  /** How many choices it gets, where those are fewer than it asks for. Throws where nobody allows that. */
  function reduction(ctx: GuardContext, level: number, largest: number | null): Surged['reduced'] {
    const { n: from, endpoint } = ctx.request;
    if (largest === null || from <= largest || endpoint === 'embeddings') return null;
    if (acceptsFewer(ctx)) return { from, to: largest, by: 'caller' };
    if (routeOf(ctx).reduceN) return { from, to: largest, by: 'route' };
    throw refuse(ctx, level, largest);
  }

  return {
    name: 'schedule',
    head() {
      surge.arrived();
      const level = surge.level();
      if (level === 0) return USUAL;
      const adds: Guarded = { surge: { level, divert: null, reduced: null, buffered: false } };
      return { note: { decision: 'surge', reason: `level ${level}` }, adds };
    },
    run(ctx) {
      const level = ctx.surge?.level ?? 0;
      const rules = surgeRules(ctx.config, ctx.principal.tier, level);
      if (rules === undefined) return { note: PASSED, adds: { surge: undefined } };
      const reduced = reduction(ctx, level, rules.largestN);
      const buffered = rules.bufferStreams && ctx.request.stream;
      if (reduced !== null) metrics.surgeAction('reduced_n');
      if (buffered) metrics.surgeAction('buffered');
      return {
        note: { decision: 'surge', reason: `level ${level}` },
        adds: {
          surge: { level, divert: rules.divert, reduced, buffered },
          ...(reduced === null ? {} : { request: reduceChoices(ctx.request, reduced.to) }),
        },
      };
    },
    // Rules that read what is left of the day may take another route once that is known.
    place(ctx) {
      const { surge: surged, decision } = ctx;
      if (surged?.reduced?.by === 'route' && !decision.route.reduceN)
        throw refuse(ctx, surged.level, surged.reduced.to);
      return surged === undefined ? PASSED : { decision: 'surge', reason: `level ${surged.level}` };
    },
  };
}

/**
 * What a level demands of tenants of a tier, by the configuration that the request came under, which may have fewer levels
 * by now; nothing of who is spared.
 */
export function surgeRules({ surge }: Pick<Snapshot, 'surge'>, tier: string, level: number): SurgeLevel | undefined {
  if (level === 0 || surge === null || surge.exemptTiers.has(tier)) return undefined;
  return surge.levels[Math.min(level, surge.levels.length) - 1];
}

function acceptsFewer({ head }: Arrived): boolean {
  return head.headers.all(ACCEPT).some((value) => value.split(',').some((word) => word.trim().toLowerCase() === 'n'));
}

function isAsked({ request }: Received, name: string, above: number): boolean {
  const value = Object.hasOwn(request.json, name) ? request.json[name] : null;
  return typeof value === 'number' && value > above;
}
