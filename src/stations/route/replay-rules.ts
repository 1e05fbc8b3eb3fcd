import type { ReplayRule } from '../../core/retry.ts';
import type { Route, Snapshot } from '../../core/snapshot.ts';
import { compileMatch, type Match } from './compile-match.ts';
import { inputReader, type RuleContext } from './match-inputs.ts';
import { type FaultEars, holds, usable } from './rule-faults.ts';

export interface ReplayRulesOptions extends FaultEars {
  readonly config: Pick<Snapshot, 'routes' | 'retry'>;
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
    return holds({ name: 'replay', match: rule.match }, rule.inputs(ctx), this.#options, onFault);
  }

  /** A checked configuration has no bad rule; should one come all the same, it forbids. */
  #compile(rule: ReplayRule): Rule {
    if (rule === 'always' || rule === 'never') return rule === 'always';
    const match = usable(compileMatch(rule), this.#options, 'replay rule cannot be used', { rule });
    return match === null ? false : { match, inputs: inputReader(match.references) };
  }
}
