import type { Candidate, CandidateReason, Decision, FallbackReason, Judged, LeftOut } from '../../core/decision.ts';
import { requestTypeOf } from '../../core/request-type.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import { isOutReason } from '../../core/finding.ts';
import { LEAST_LOADED, type ScorePolicy } from '../../core/score-policy.ts';
import type { Affinity } from '../../routing/affinity.ts';
import type { Choice, Plan, Question } from '../../routing/decide.ts';
import type { Engine } from '../../routing/engine.ts';
import type { Adjust, Scored } from '../../routing/score.ts';
import type { Target } from '../../routing/target.ts';
import { type ClassOf, qualityOf } from './classify.ts';
import type { Barred, Group } from './group.ts';
import { barredAs, judgedAs } from './judged.ts';
import type { RouteContext } from './match-inputs.ts';
import { withEndpoints } from './pool-groups.ts';
import { askOf, targetOf, workOf } from './targets.ts';
import { warmthOf } from './warmth.ts';

export interface Ordered {
  readonly candidates: Decision['candidates'];
  readonly insteadOf: FallbackReason | null;
  /** Who was passed over. */
  readonly leftOut: readonly { readonly deployment: string; readonly why: LeftOut }[];
  readonly judged: Decision['judged'];
  /** What being warm did to the choice among the first candidates; null = it does not count. */
  readonly affinity: Affinity | null;
}

interface Judgement {
  readonly group: Group;
  readonly plan: Plan;
  readonly targets: readonly Target[];
}

/** Probes find within such a time that a backend is well again. */
const PROBE_PATIENCE_MS = 10_000;

const GIVEN: ScorePolicy = {
  weights: { cost: 0, latency: 0, quality: 0 },
  load: 0,
  costCeiling: null,
  latencyMs: null,
  spread: { kind: 'near', near: 0 },
};

/**
 * Puts candidates in order by what is known of them now. Throws `circuit_breaker_open`, `no_candidate` or
 * `upstream_rate_limited` when nobody may be asked. @param now - Monotonic milliseconds.
 */
export function orderGroups(
  {
    ctx,
    groups,
    barred = [],
    adjust,
    classOf,
    isPreview,
    now,
  }: {
    readonly ctx: RouteContext;
    readonly groups: readonly Group[];
    /** Who may not serve it at all, for the record. */
    readonly barred?: readonly Barred[];
    /** Corrects scores; null = nothing does. */
    readonly adjust: Adjust | null;
    /** Class of the request; null = it has none. */
    readonly classOf: ClassOf | null;
    readonly isPreview: boolean;
    readonly now: number;
  },
  engine: Pick<Engine, 'decide' | 'breakers' | 'board'>,
): Ordered {
  const all = groups.flatMap(withEndpoints);
  const judge = (lastResort: Question['lastResort']): readonly Judgement[] =>
    all.map((group) => judgeGroup({ ctx, group, adjust, classOf, isPreview, now, lastResort }, engine));
  let judgements = judge('nobody');
  if (judgements.every(({ plan }) => plan.order.length === 0))
    judgements = judge(ctx.config.breakers.whenAllOpen === 'serve' ? 'anybody' : 'late');
  const [first, ...rest] = judgements.flatMap(candidatesOf);
  const judged: Decision['judged'] = () => [
    ...judgedOf(judgements),
    ...barred.map((one) => barredAs(one, engine.board, now)),
  ];
  if (first === undefined) throw refusal({ ctx, judgements, judged, now }, engine.breakers);
  return {
    candidates: [first, ...rest],
    insteadOf: judgements[0]?.plan.insteadOf ?? null,
    leftOut: [
      ...barred.map(({ candidate, why }) => ({ deployment: candidate.deployment.id, why })),
      ...judgements.flatMap(({ plan }) =>
        plan.excluded
          .filter(({ scored }) => !plan.order.some(({ target }) => target === scored.target))
          .map(({ scored, why }) => ({ deployment: scored.target.id, why })),
      ),
    ],
    judged,
    affinity: judgements.find(({ plan }) => plan.order.length > 0)?.plan.affinity ?? null,
  };
}

function judgeGroup(
  {
    ctx,
    group: { policy, candidates },
    group,
    adjust,
    classOf,
    isPreview,
    now,
    lastResort,
  }: {
    readonly ctx: RouteContext;
    readonly group: Group;
    readonly adjust: Adjust | null;
    readonly classOf: ClassOf | null;
    readonly isPreview: boolean;
    readonly now: number;
    readonly lastResort: Question['lastResort'];
  },
  engine: Pick<Engine, 'decide'>,
): Judgement {
  const type = requestTypeOf(ctx);
  const targets = candidates.map((candidate) =>
    targetOf(candidate, candidate.weight, qualityOf(candidate.deployment, type, classOf), ctx.time),
  );
  const [first] = candidates;
  const plan = engine.decide({
    ask: askOf(ctx, first?.deployment.profile.defaultMaxTokens ?? null, now),
    targets,
    rank: policy === null ? 'given' : 'score',
    policy: policy ?? GIVEN,
    // Models in order of their load have no score that a rule could correct.
    adjust: policy === null || policy === LEAST_LOADED ? null : adjust,
    warmth: policy === null ? null : warmthOf(ctx),
    tries: 1 + ctx.config.retry.retries,
    lastResort,
    isPreview,
    now,
  });
  return { group, plan, targets };
}

function candidatesOf({ group, plan, targets }: Judgement): readonly Candidate[] {
  return plan.order.map((scored, at) => {
    const candidate = group.candidates[targets.indexOf(scored.target)] as Candidate;
    const { deployment, endpoint } = candidate;
    const reason = reasonOf(candidate.reason, plan.choice, at, group);
    return endpoint === undefined ? { deployment, reason } : { deployment, endpoint, reason };
  });
}

function reasonOf(
  given: CandidateReason,
  choice: Choice | null,
  at: number,
  { policy, isPool = false }: Group,
): CandidateReason {
  if (at === 0 && (choice === 'probe' || choice === 'last_resort')) return choice;
  if (policy === null || given === 'fallback' || given === 'canary') return given;
  if (at === 0 && choice === 'warm') return choice;
  if (isPool) return given;
  const { cost, latency, quality } = policy.weights;
  return cost + latency + quality === 0 ? 'least_loaded' : 'best_score';
}

/** Why nobody may be asked, and when somebody may be. */
function refusal(
  {
    ctx,
    judgements,
    judged,
    now,
  }: {
    readonly ctx: RouteContext;
    readonly judgements: readonly Judgement[];
    readonly judged: Decision['judged'];
    readonly now: number;
  },
  breakers: Engine['breakers'],
): NobodyLeft {
  const out = judgements.flatMap(({ plan }) => plan.excluded);
  const rests = out.filter(({ why }) => why === 'cooling_down').map(({ scored }) => scored.live.busy.restUntil - now);
  if (rests.length > 0)
    return new NobodyLeft('upstream_rate_limited', 'Every backend of the model asks to be left alone for a while.', {
      judged,
      retryAfterMs: Math.max(1000, Math.min(...rests)),
    });
  const [first] = out;
  if (first !== undefined && out.every(({ why }) => isOutReason(why)))
    return new NobodyLeft('no_candidate', 'No backend of the model is fit to serve now. Please try again later.', {
      judged,
      retryAfterMs: PROBE_PATIENCE_MS,
      headers: [['x-fallback-reason', first.why]],
    });
  const { text } = ctx.config.breakers;
  const { kind } = workOf(ctx);
  return new NobodyLeft('circuit_breaker_open', text ?? 'The model failed too often lately. Please try again later.', {
    judged,
    retryAfterMs: Math.max(1000, Math.min(...out.map(({ scored }) => breakers.restMs(scored.target, kind, now)))),
    headers: [['x-fallback-reason', 'circuit_breaker_open']],
  });
}

function judgedOf(judgements: readonly Judgement[]): readonly Judged[] {
  let place = 0;
  return judgements.flatMap((judgement) => {
    const { group, plan, targets } = judgement;
    const standing = candidatesOf(judgement).map(({ reason }, at) => {
      place += 1;
      return judgedAs(plan.order[at] as Scored, place, reason, group);
    });
    const inPlan = new Set(plan.order.map(({ target }) => target));
    const out = plan.excluded
      .filter(({ scored }) => !inPlan.has(scored.target))
      .map(({ scored, why }) => judgedAs(scored, null, why, group));
    return targets.length === 0 ? [] : [...standing, ...out];
  });
}
