import type { Snapshot } from '../../core/snapshot.ts';
import type { RouteScore } from '../../core/score-policy.ts';
import type { Adjust, Looked } from '../../routing/score.ts';
import {
  compileFormula,
  compileWhen,
  type Formula,
  type Match,
  type MatchProblem,
  type ScoreVariables,
} from './compile-match.ts';
import { inputReader, type RouteContext } from './match-inputs.ts';
import { unionOf } from './references.ts';
import { type FaultEars, usable } from './rule-faults.ts';

interface Rules {
  readonly formula: Formula | null;
  readonly whens: readonly {
    readonly name: string;
    readonly match: Match<ScoreVariables>;
    readonly multiply: number;
  }[];
  readonly inputs: ReturnType<typeof inputReader>;
}

export interface ScoreRulesOptions extends FaultEars {
  readonly config: Pick<Snapshot, 'routes'>;
}

/** The expressions of a configuration's scores, compiled once. */
export class ScoreRules {
  readonly #options: ScoreRulesOptions;
  readonly #byRoute: ReadonlyMap<string, Rules>;

  constructor(options: ScoreRulesOptions) {
    this.#options = options;
    this.#byRoute = new Map(
      options.config.routes.flatMap(({ id, score }) => {
        const rules = score === null ? null : this.#compile(id, score);
        return rules === null ? [] : [[id, rules] as const];
      }),
    );
  }

  /** What corrects the scores of one request; null where the route has no rules. `onFault` hears which failed and why. */
  adjust(route: string, ctx: RouteContext, onFault: (fault: string) => void): Adjust | null {
    const rules = this.#byRoute.get(route);
    if (rules === undefined) return null;
    const request = rules.inputs(ctx);
    const failed = new Set<string>();
    const fault = (name: string, code: string): void => {
      // One word for all candidates of a request.
      if (failed.has(name)) return;
      failed.add(name);
      this.#options.metrics.anomaly('route_rule_failed');
      onFault(`${name}: ${code}`);
    };
    return (looked, terms, utility) => {
      const variables: ScoreVariables = { ...request, target: targetFields(looked), terms: { ...terms } };
      return applied(rules, variables, utility, fault);
    };
  }

  #compile(route: string, score: RouteScore): Rules | null {
    const checked = <T extends { readonly ok: true }>(compiled: T | MatchProblem): T | null =>
      usable(compiled, this.#options, 'score rule cannot be used', { route });
    const formula = score.expression === null ? null : checked<Formula>(compileFormula(score.expression));
    const whens = score.rules.flatMap(({ when, multiply }, at) => {
      const match = checked<Match<ScoreVariables>>(compileWhen(when));
      return match === null ? [] : [{ name: `${route}.rules[${at}]`, match, multiply }];
    });
    if (formula === null && whens.length === 0) return null;
    const all = [...(formula === null ? [] : [formula]), ...whens.map(({ match }) => match)];
    return { formula, whens, inputs: inputReader(unionOf(all.map(({ references }) => references))) };
  }
}

function applied(
  { formula, whens }: Rules,
  variables: ScoreVariables,
  utility: number,
  fault: (name: string, code: string) => void,
): number | null {
  const made = formula?.evaluate(variables) ?? { value: null, fault: null };
  if (made.fault !== null) fault('expression', made.fault);
  if (made.fault !== null) return null;
  let value = made.value ?? utility;
  for (const { name, match, multiply } of whens) {
    const { matched, fault: code } = match.evaluate(variables);
    if (code !== null) fault(name, code);
    if (matched) value *= multiply;
  }
  return value;
}

function targetFields({ target, estimate, cost, health, load, running }: Looked): ScoreVariables['target'] {
  const { id, group, domain, pool } = target;
  return {
    // Rules are about deployments; the figures are of the endpoint.
    id: pool === undefined ? id : `${group}@${pool}`,
    model: group,
    backend: pool ?? domain,
    cost: cost / 1_000_000,
    quality: target.quality,
    estimate_ms: estimate.totalMs ?? -1,
    first_token_ms: estimate.firstTokenMs ?? -1,
    health,
    load,
    running: BigInt(running),
    weight: target.weight,
  };
}
