import type { ClientDialect } from '../core/dialect.ts';
import { addressOf } from '../core/endpoint.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestHead } from '../core/http.ts';
import type { PickExchange, PickExchangeFactory, Picked } from '../core/pick.ts';
import { placesOf } from '../core/places.ts';
import type { Clock } from '../core/ports/clock.ts';
import { LEAST_LOADED } from '../core/score-policy.ts';
import type { Deployment, Snapshot } from '../core/snapshot.ts';
import type { Plan, Question } from '../routing/decide.ts';
import type { Engine } from '../routing/engine.ts';
import type { Target } from '../routing/target.ts';
import { incarnationOf, targetOf, workOf } from '../stations/route/targets.ts';
import { warmthOf, type WarmthContext } from '../stations/route/warmth.ts';
import { errorResponse } from '../stations/wrap/error-response.ts';
import { askedOf } from './asked.ts';
import { FollowedPick } from './followed-pick.ts';

/** What became of questions: `moved` counts answers by another endpoint than the first of the list. */
export type PickOutcome = 'picked' | 'shed' | 'no_endpoint' | 'moved';

export interface PoolPickerOptions {
  readonly config: () => Snapshot;
  /** Name of a backend that is a pool. */
  readonly backend: string;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly client: ClientDialect;
  readonly count: (outcome: PickOutcome) => void;
}

export interface PoolPicker {
  readonly factory: PickExchangeFactory;
  /** Is there an endpoint that nothing is known against? */
  readonly isReady: () => boolean;
}

/** A lease outlives the longest request by this much. */
const GRACE_MS = 10_000;
const FULL_RETRY_MS = 1000;

/** Picks endpoints of one pool for the requests of other proxies, by the same knowledge as the gateway's own. */
export function createPoolPicker(options: PoolPickerOptions): PoolPicker {
  const { config, engine, clock, client } = options;
  let count = 0;

  /** Which deployment of the pool a request is for; one that nobody knows by name is of the first. */
  function deploymentFor(model: string): Deployment | null {
    const { models } = config();
    const all = [...models.values()].flatMap(({ deployments }) => deployments);
    const here = all.filter((each) => each.backend.name === options.backend && each.backend.pool !== undefined);
    return here.find((each) => each.model === model || each.upstreamModel === model) ?? here[0] ?? null;
  }

  const isFit = (target: Target): boolean => engine.findings.out(target.incarnation, clock.now()) === null;

  function pick(head: RequestHead, subset: ReadonlySet<string> | null, body: Buffer | null): Chosen {
    const request = askedOf(head, body, (from, bytes) => client.parse(from, bytes, config().limits));
    const deployment = deploymentFor(request.model);
    if (deployment === null) throw noEndpoint();
    const addresses = new Map<Target, string>();
    for (const { endpoint } of placesOf(deployment)) {
      if (endpoint === undefined) continue;
      const address = addressOf(endpoint);
      const target = targetOf({ deployment, endpoint }, 1, deployment.profile.quality, clock.time());
      if ((subset === null || subset.has(address)) && isFit(target)) addresses.set(target, address);
    }
    if (addresses.size === 0) throw noEndpoint();
    // Nobody is known here: what belongs together is told apart by the credential that was shown.
    const asked = { config: config(), head, request, principal: { tenant: head.headers.get('authorization') ?? '' } };
    const question = questionOf(asked, deployment, [...addresses.keys()], clock.now());
    const plan = planOf(question, engine, config().breakers.whenAllOpen === 'serve');
    if (plan.choice === 'all_full') throw full(FULL_RETRY_MS);
    const { retry, timeouts } = config();
    const targets = plan.order.slice(0, 1 + retry.retries).map(({ target }) => target);
    const list = targets.map((target) => addresses.get(target) ?? '');
    count += 1;
    const followed = new FollowedPick({
      tries: engine.tries,
      id: `pick-${count}`,
      targets,
      addresses: list,
      work: { ...question.ask, warm: warmthOf(asked).warm(deployment.model) },
      now: () => clock.now(),
      expiresAt: clock.now() + timeouts.maxRequestMs + GRACE_MS,
      onMoved: () => options.count('moved'),
    });
    return { addresses: list, followed };
  }

  return {
    factory: (head, subset) => exchangeOf((body) => pick(head, subset, body), options),
    isReady() {
      const deployment = deploymentFor('');
      return (
        deployment !== null &&
        placesOf(deployment).some((place) => engine.findings.out(incarnationOf(place), clock.now()) === null)
      );
    },
  };
}

interface Chosen {
  readonly addresses: readonly string[];
  readonly followed: FollowedPick;
}

function exchangeOf(choose: (body: Buffer | null) => Chosen, { client, count }: PoolPickerOptions): PickExchange {
  let followed: FollowedPick | null = null;
  let sees = true;
  return {
    pick(body): Picked {
      try {
        const chosen = choose(body);
        const [first, ...rest] = chosen.addresses;
        if (first === undefined) throw noEndpoint();
        ({ followed } = chosen);
        count('picked');
        return { kind: 'picked', addresses: [first, ...rest] };
      } catch (reason) {
        const error = GatewayError.from(reason);
        count(error.code === 'pool_saturated' ? 'shed' : 'no_endpoint');
        return { kind: 'refused', response: errorResponse(client, error, []) };
      }
    },
    onResponseHead(head, served, seesBody) {
      sees = seesBody;
      followed?.onResponseHead(head, served, seesBody);
    },
    onResponseBody: (chunk) => followed?.onResponseBody(chunk),
    onResponseEnd: () => followed?.onResponseEnd(),
    close: () => followed?.close(sees),
  };
}

/** Who is full, or asks for a rest, is not gone: only for those who are is there another answer. Throws `GatewayError`. */
function planOf(question: Question, engine: Engine, mayServe: boolean): Plan {
  const plan = engine.decide({ ...question, lastResort: 'nobody' });
  if (plan.order.length > 0) return plan;
  const rests = plan.excluded.filter(({ why }) => why === 'cooling_down');
  if (rests.length > 0) throw full(Math.min(...rests.map(({ scored }) => scored.live.busy.restUntil - question.now)));
  const last = mayServe ? engine.decide({ ...question, lastResort: 'anybody' }) : plan;
  if (last.order.length === 0) throw noEndpoint();
  return last;
}

function questionOf(asked: WarmthContext, { profile }: Deployment, targets: readonly Target[], now: number): Question {
  const { request, config } = asked;
  return {
    ask: {
      ...workOf({ request, surge: undefined }),
      outputTokens: request.maxOutputTokens ?? profile.defaultMaxTokens,
      latencyLimitMs: null,
    },
    targets,
    rank: 'score',
    policy: LEAST_LOADED,
    warmth: warmthOf(asked),
    tries: 1 + config.retry.retries,
    lastResort: 'nobody',
    now,
  };
}

function noEndpoint(): GatewayError {
  return new GatewayError('no_candidate', 'No endpoint of the pool is ready for this request.', { retryAfterMs: 5000 });
}

function full(retryAfterMs: number): GatewayError {
  return new GatewayError('pool_saturated', 'Every endpoint of the pool has as many requests as it takes.', {
    retryAfterMs: Math.max(FULL_RETRY_MS, retryAfterMs),
  });
}
