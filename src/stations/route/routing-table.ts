import { hash } from 'node:crypto';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Route } from '../../core/snapshot.ts';
import { Lru } from '../../lib/lru/lru.ts';
import { canServe } from './eligible.ts';
import type { Asked, RoutingConfig, Supports } from './eligible.ts';
import { compileMatch } from './compile-match.ts';
import type { Match, MatchVariables, Variable } from './compile-match.ts';
import { inputReader } from './match-inputs.ts';
import type { RuleContext } from './match-inputs.ts';
import { unionOf } from './references.ts';
import { holds, usable } from './rule-faults.ts';

export interface RoutingTableOptions {
  readonly config: RoutingConfig;
  readonly supports: Supports;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** `fromSize`: rules smaller than this, all together, are evaluated each time. Default: 1. */
  readonly cache: { readonly entries: number; readonly ttlMs: number; readonly fromSize?: number };
}

/** Which route takes a request. */
export interface Taken {
  /** Null when none does. */
  readonly route: Route | null;
  /** Rules that could not be answered: `<route>: <code>`. */
  readonly faults: readonly string[];
  readonly cached: boolean;
}

interface Rule {
  readonly route: Route;
  /** Null = always. */
  readonly match: Match | null;
}

interface Entry {
  readonly route: Route | null;
  readonly faults: readonly string[];
  readonly until: number;
}

/** UTF-16 units of values that name a remembered answer as they are; longer ones are named by their digest. */
const MAX_NAME = 512;

/** Names asked for whose rules are remembered. */
const MAX_NAMES = 256;

const VARIABLES: readonly Variable[] = ['claims', 'headers'];

/** Is a requested name among those a route is looked at for: exact, or `prefix*`? */
export function nameFits(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name));
}

/**
 * Everything that a decision depends on as one text. Fields of requests and tenants come in one order; claims and headers are
 * put in order, so that the same values have one spelling. Texts are quoted, so that none can pass for two.
 */
function nameOf(tenant: string, { name, target, endpoint, canary }: Asked, variables: MatchVariables): string {
  let text = `${JSON.stringify(tenant)}${JSON.stringify(name)}${JSON.stringify(target)}${endpoint}${canary ? '+' : '-'}`;
  for (const field in variables.request) text += spelled(field, variables.request[field]);
  text += '|';
  for (const field in variables.tenant) text += spelled(field, variables.tenant[field]);
  for (const variable of VARIABLES) {
    text += '|';
    const values = variables[variable];
    const fields = Object.keys(values);
    for (const field of fields.length > 1 ? fields.toSorted() : fields) text += spelled(field, values[field]);
  }
  return text;
}

function spelled(field: string, value: unknown): string {
  return `${JSON.stringify(field)}:${spelledValue(value)},`;
}

function spelledValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return JSON.stringify(value, plain);
    default:
      return String(value);
  }
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/**
 * The routes of one configuration with their rules compiled, and a memory of which route took what. A remembered answer is
 * named by every value that any rule reads, and by what decides whether a route could serve: two requests with the same
 * name cannot get different answers. The draw among candidates is not part of it.
 */
export class RoutingTable {
  readonly #options: RoutingTableOptions;
  readonly #rules: readonly Rule[];
  readonly #inputs: (ctx: RuleContext) => MatchVariables;
  readonly #cache: Lru<string, Entry>;
  /** To name a request's values costs more than to evaluate a few small rules. */
  readonly #remembers: boolean;
  readonly #byName = new Lru<string, readonly Rule[]>(MAX_NAMES);

  constructor(options: RoutingTableOptions) {
    this.#options = options;
    this.#rules = options.config.routes.flatMap((route) => this.#compile(route) ?? []);
    this.#inputs = inputReader(unionOf(this.#rules.flatMap((rule) => rule.match?.references ?? [])));
    this.#cache = new Lru(options.cache.entries);
    const size = this.#rules.reduce((sum, { match }) => sum + (match?.size ?? 0), 0);
    this.#remembers = size >= (options.cache.fromSize ?? 1);
  }

  /** Entries remembered now. */
  get remembered(): number {
    return this.#cache.size;
  }

  take(ctx: RuleContext, asked: Asked): Taken {
    const variables = this.#inputs(ctx);
    if (!this.#remembers) return { ...this.#find(variables, asked), cached: false };
    const values = nameOf(ctx.principal.tenant, asked, variables);
    // The text itself begins with a quote, which no digest does.
    const name = values.length <= MAX_NAME ? values : hash('sha256', values, 'base64');
    const now = this.#options.clock.now();
    const known = this.#cache.get(name);
    if (known !== undefined && now < known.until) return { route: known.route, faults: known.faults, cached: true };
    const found = this.#find(variables, asked);
    this.#cache.set(name, { ...found, until: now + this.#options.cache.ttlMs });
    return { ...found, cached: false };
  }

  /** The rules that are looked at for a name, in order: with a thousand routes most are for others. */
  #rulesFor(asked: Asked): readonly Rule[] {
    const { config, supports } = this.#options;
    const key = `${asked.endpoint}${asked.canary ? '+' : '-'}${JSON.stringify(asked.name)}${asked.target}`;
    const known = key.length > MAX_NAME ? undefined : this.#byName.get(key);
    if (known !== undefined) return known;
    const fit = this.#rules.filter(
      ({ route }) =>
        (nameFits(route.models, asked.name) || nameFits(route.models, asked.target)) &&
        canServe(route, config, asked, supports),
    );
    if (key.length <= MAX_NAME) this.#byName.set(key, fit);
    return fit;
  }

  #find(variables: MatchVariables, asked: Asked): { route: Route | null; faults: readonly string[] } {
    const faults: string[] = [];
    const onFault = (fault: string): void => void faults.push(fault);
    for (const { route, match } of this.#rulesFor(asked)) {
      if (match === null || holds({ name: route.id, match }, variables, this.#options, onFault))
        return { route, faults };
    }
    return { route: null, faults };
  }

  /** A checked configuration has no bad rule; should one come all the same, its route takes nothing. */
  #compile(route: Route): Rule | null {
    if (route.match === null) return { route, match: null };
    const match = usable(compileMatch(route.match), this.#options, 'route rule cannot be used', { route: route.id });
    return match === null ? null : { route, match };
  }
}
