import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { ReplayRule } from '../../core/retry.ts';
import type { Route, Snapshot } from '../../core/snapshot.ts';
import { compileMatch, type Match } from './compile-match.ts';
import { inputReader, type RuleContext } from './match-inputs.ts';

export interface ReplayRulesOptions {
  readonly config: Pick<Snapshot, 'routes' | 'retry'>;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly log: Pick<Log, 'error'>;
}

interface Compiled {
  readonly match: Match;
  readonly inputs: ReturnType<typeof inputReader>;
}

/** A rule without an expression is its own answer. */
type Rule = boolean | Compiled;

/** The rules of a configuration on who may be asked again, compiled once. A rule that fails for a request forbids it. */
export class ReplayRules {
  readonly #options: ReplayRulesOptions;
  readonly #rules: ReadonlyMap<ReplayRule, Rule>;

  constructor(options: ReplayRulesOptions) {
    this.#options = options;
    const { routes, retry } = options.config;
    const all = [retry.replay, ...routes.flatMap(({ replay }) => replay ?? [])];
    this.#rules = new Map(all.map((rule) => [rule, this.#compile(rule)]));
  }

  /** May this request go elsewhere when a backend took it and never answered? `onFault` hears why a rule could not say. */
  allows({ replay }: Pick<Route, 'replay'>, ctx: RuleContext, onFault: (fault: string) => void): boolean {
    const rule = this.#rules.get(replay ?? this.#options.config.retry.replay) ?? false;
    if (typeof rule === 'boolean') return rule;
    const { matched, fault } = rule.match.evaluate(rule.inputs(ctx));
    if (fault !== null) {
      this.#options.metrics.anomaly('route_rule_failed');
      onFault(`replay: ${fault}`);
    }
    return matched;
  }

  /** A checked configuration has no bad rule; should one come all the same, it forbids. */
  #compile(rule: ReplayRule): Rule {
    if (rule === 'always' || rule === 'never') return rule === 'always';
    const match = compileMatch(rule);
    if (match.ok) return { match, inputs: inputReader(match.references) };
    this.#options.metrics.anomaly('route_rule_unusable');
    this.#options.log.error('replay rule cannot be used', { rule, error: match.error });
    return false;
  }
}
