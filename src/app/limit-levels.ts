import type { KeyRecord, LineRecord } from '../core/directory.ts';
import { type LimitLine, limitName } from '../core/limit.ts';
import type { DirectoryStore } from '../core/ports/directory-store.ts';
import type { DirectoryView } from '../core/ports/directory-view.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { COUNT_ONLY, limitLines } from '../stations/schedule/limit-lines.ts';

export interface LimitLevelsOptions {
  readonly config: Snapshot;
  readonly directory: DirectoryView;
  readonly store: Pick<DirectoryStore, 'list'>;
  readonly tenant: string;
  /** null: no limits of subjects. */
  readonly subject: string | null;
  /** null: those of every model. */
  readonly model: string | null;
  /** null: those of every business line. */
  readonly businessLine: string | null;
  /** null: no limits of keys. */
  readonly key: KeyRecord | null;
}

const PAGE = 500;
const LEVELS = ['tenant', 'line:', 'key:', 'subject:', 'model:'];
const ANY = { includes: () => true };

/**
 * The limits of a tenant on all levels, in their order: tenant, business lines, key, subject, models. The counters of budgets
 * limit nobody and are left out. Throws `StoreUnavailable`.
 */
export async function limitLevels(options: LimitLevelsOptions): Promise<readonly LimitLine[]> {
  const { config, directory, tenant, subject, model, businessLine, key } = options;
  const { tier } = config.tenants.get(tenant) ?? config.tenantDefaults;
  const found = new Map<string, LimitLine>();
  for (const line of businessLine === null ? await businessLinesOf(options) : [businessLine]) {
    const met = limitLines({
      config,
      directory,
      models: model === null ? ANY : [model, config.aliases.get(model) ?? model],
      principal: {
        subject: subject ?? '',
        tenant,
        tier,
        businessLine: line,
        scopes: new Set(),
        models: [],
        credential: '',
        limits: [],
        limitRules: key?.limits ?? [],
        keyId: key?.id ?? null,
        tags: {},
        claims: {},
      },
    });
    for (const each of met) if (shown(each, subject)) found.set(counterName(each), each);
  }
  return [...found.values()].toSorted((a, b) => levelOf(a) - levelOf(b) || (a.scope < b.scope ? -1 : 1));
}

/** Every name that could have limits: those of the directory, of the configuration, and the tenant's own. */
async function businessLinesOf({ config, store, tenant }: LimitLevelsOptions): Promise<ReadonlySet<string>> {
  const own = config.tenants.get(tenant) ?? config.tenantDefaults;
  const names = new Set([own.businessLine]);
  for (const { businessLine } of own.limits) if (businessLine !== undefined) names.add(businessLine);
  let page: readonly LineRecord[] = await store.list('line', { after: null, count: PAGE, tenant });
  for (;;) {
    for (const { name } of page) names.add(name);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return names;
    page = await store.list('line', { after: `${tenant}/${last.name}`, count: PAGE, tenant });
  }
}

/** Limits of each subject say nothing while nobody is named. */
function shown({ scope, limit }: LimitLine, subject: string | null): boolean {
  return limit !== COUNT_ONLY && (subject !== null || !/(?:^|\|)subject:/.test(scope));
}

function levelOf({ scope }: LimitLine): number {
  const level = LEVELS.findIndex((each) => (each.endsWith(':') ? scope.startsWith(each) : scope === each));
  return level < 0 ? LEVELS.length : level;
}

function counterName(line: LimitLine): string {
  const { window, scope } = line;
  return `${limitName(line)} ${window.kind === 'calendar' ? (window.zone ?? 'UTC') : ''} ${scope}`;
}
