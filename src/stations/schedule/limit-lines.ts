import type { LimitRule } from '../../core/directory.ts';
import { type LimitLine, limitName, type LimitWindow } from '../../core/limit.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import type { Principal } from '../../core/principal.ts';
import type { Snapshot, TenantLimit } from '../../core/snapshot.ts';

/** Names, or all there could be. */
type Names = Pick<readonly string[], 'includes'>;

/** Whose limits hold. `models`: the name asked for, and what it is an alias of. */
export interface LimitsOf {
  readonly config: Pick<Snapshot, 'tenants' | 'tenantDefaults' | 'ledger'>;
  readonly principal: Principal;
  readonly models: Names;
  readonly directory: DirectoryView;
}

/** The limit of a line that only counts: no counter gets there. */
export const COUNT_ONLY = Number.MAX_SAFE_INTEGER;

/** Days and months of a limit without a zone are those of the ledger's. */
function inZone(window: LimitWindow, zone: string): LimitWindow {
  if (window.kind !== 'calendar' || window.zone !== undefined) return window;
  return { ...window, zone };
}

/** No model's name holds a bar, so no two scopes are alike. */
function scoped(scope: string, model: string | null): string {
  if (model === null) return scope;
  return scope === 'tenant' ? `model:${model}` : `model:${model}|${scope}`;
}

function lineOfTenant(limit: TenantLimit, { principal, models }: LimitsOf): readonly LimitLine[] {
  const { unit, window, per, businessLine, model } = limit;
  if (model !== undefined && !models.includes(model)) return [];
  if (per === 'line' && businessLine !== principal.businessLine) return [];
  const scope = { tenant: 'tenant', subject: `subject:${principal.subject}`, line: `line:${businessLine}` }[per];
  return [{ scope: scoped(scope, model ?? null), unit, window, limit: limit.limit }];
}

/** The lines of rules that an operator wrote on a tenant, business line or key. */
function linesOfRules(rules: readonly LimitRule[], scope: string, models: Names): readonly LimitLine[] {
  return rules
    .filter(({ model }) => model === null || models.includes(model))
    .map(({ unit, window, limit, model }) => ({ scope: scoped(scope, model), unit, window, limit }));
}

/** What budgets are measured by: counters of spending that refuse nobody. */
function linesOfBudgets({ directory, principal }: LimitsOf): readonly LimitLine[] {
  return directory
    .budgets(principal.tenant)
    .filter(({ businessLine }) => businessLine === null || businessLine === principal.businessLine)
    .map(({ businessLine, period }) => ({
      scope: businessLine === null ? 'tenant' : `line:${businessLine}`,
      unit: 'spend',
      window: { kind: 'calendar', unit: period },
      limit: COUNT_ONLY,
    }));
}

/** One counter is asked once, for the tightest of its limits. */
function tightest(lines: readonly LimitLine[]): readonly LimitLine[] {
  const byCounter = new Map<string, LimitLine>();
  for (const line of lines) {
    const zone = line.window.kind === 'calendar' ? line.window.zone : undefined;
    const name = `${limitName(line)} ${zone ?? 'UTC'} ${line.scope}`;
    const known = byCounter.get(name);
    if (known === undefined || line.limit < known.limit) byCounter.set(name, line);
  }
  return [...byCounter.values()];
}

/**
 * Every limit that a request must pass: of its tenant (else the defaults), business line, subject, key and model, as the
 * configuration, the directory and the credential say. All hold at once, so the tightest decides.
 */
export function limitLines(of: LimitsOf): readonly LimitLine[] {
  const { config, principal, models, directory } = of;
  const { tenant: name, subject, businessLine } = principal;
  const { limits } = config.tenants.get(name) ?? config.tenantDefaults;
  const tenant = directory.tenant(name);
  const lines = [
    ...limits.flatMap((limit) => lineOfTenant(limit, of)),
    ...linesOfRules(tenant?.limits ?? [], 'tenant', models),
    ...linesOfRules(tenant?.subjectLimits ?? [], `subject:${subject}`, models),
    ...linesOfRules(directory.line(name, businessLine)?.limits ?? [], `line:${businessLine}`, models),
    ...linesOfRules(principal.limitRules ?? [], `key:${principal.keyId ?? ''}`, models),
    ...principal.limits,
    ...linesOfBudgets(of),
  ];
  const { zone } = config.ledger;
  return tightest(zone === 'UTC' ? lines : lines.map((line) => ({ ...line, window: inZone(line.window, zone) })));
}
