import type { Budget, Key, Live, Quotas, Routing, SpendRow, Status, Tenant, TopRequest } from '../data/wire.ts';
import { dayAfter, isoDay } from '../text/format.ts';
import type { Api, Listed } from './api.ts';
import type { Feed, Need, Part } from './feed.ts';

export const VIEWS = ['overview', 'spend', 'budgets', 'limits', 'live', 'models', 'keys'] as const;
export type View = (typeof VIEWS)[number];
export const RANGES = [7, 30, 90] as const;

/** What somebody chose to look at. */
export interface Choice {
  readonly view: View;
  /** null = all that the caller may see. */
  readonly tenant: string | null;
  readonly days: number;
}

/** All that views show. */
export interface Facts {
  readonly tenants: Part<Listed<Tenant>>;
  readonly spend: Part<Listed<SpendRow>>;
  readonly top: Part<{ readonly data: readonly TopRequest[] }>;
  readonly budgets: Part<Listed<Budget>>;
  readonly quotas: Part<Quotas>;
  readonly live: Part<Live>;
  readonly routing: Part<Routing>;
  readonly keys: Part<Listed<Key>>;
  /** What was spent in a budget's running period, by its id. */
  readonly ofBudget: (id: string) => Part<Listed<SpendRow>>;
}

const LIVE_MS = 2000;
const REST_MS = 30_000;
/** Budgets whose burn-down is drawn: each is a question of its own. */
export const DRAWN_BUDGETS = 12;
const HOUR_MS = 3_600_000;

interface Asking {
  readonly api: Api;
  readonly status: Status;
  readonly choice: Choice;
  /** Unix milliseconds, by the server's clock. */
  readonly now: number;
}

/** The days that a choice is about, in the zone of the ledger; `to` is tomorrow. */
export function daysOf({ status, choice, now }: Pick<Asking, 'status' | 'choice' | 'now'>): {
  readonly from: string;
  readonly to: string;
  readonly today: string;
} {
  const today = isoDay(now, status.zone);
  const days = choice.view === 'overview' ? 7 : choice.days;
  return { today, from: dayAfter(today, 1 - days), to: dayAfter(today, 1) };
}

/** Every question of the dashboard, by what it is about. */
function questions({ api, status, choice, now }: Asking) {
  const { tenant } = choice;
  const { from, to, today } = daysOf({ status, choice, now });
  const quotasOf = tenant ?? status.tenant;
  const by = 'tenant,model,business_line,request_type,charged_to';
  const need = (everyMs: number, what: readonly unknown[], load: Need['load']): Need => ({
    key: JSON.stringify(what),
    everyMs,
    load,
  });
  return {
    status: need(REST_MS, ['status'], () => api.get('status')),
    tenants: need(REST_MS, ['tenants'], () => api.list('tenants', { limit: 200 })),
    spend: need(REST_MS, ['spend', tenant, from, to], () => api.list('spend', { tenant, from, to, by, limit: 10_000 })),
    top: need(REST_MS, ['top', tenant, today], () => api.get('top', { tenant, day: today, count: 10 })),
    budgets: need(REST_MS, ['budgets', tenant], () => api.list('budgets', { tenant, limit: 200 })),
    quotas: need(REST_MS, ['quotas', quotasOf], () => api.get('quotas', { tenant: quotasOf })),
    live: need(LIVE_MS, ['live'], () => api.get('live')),
    routing: need(LIVE_MS, ['routing'], () => api.get('routes')),
    keys: need(REST_MS, ['keys', tenant], () => api.list('keys', { tenant, limit: 200 })),
    ofBudget: (budget: Budget) => {
      const query = budgetQuery(budget);
      return need(REST_MS, ['of-budget', query], () => api.list('spend', query));
    },
  };
}

function budgetQuery({ tenant, period, state }: Budget) {
  const whole = (text: string | undefined, round: (value: number) => number): string =>
    new Date(round(Date.parse(text ?? '') / HOUR_MS) * HOUR_MS).toISOString();
  const day = period === 'day';
  return {
    tenant,
    from: day ? whole(state?.from, Math.floor) : (state?.from ?? ''),
    to: day ? whole(state?.to, Math.ceil) : (state?.to ?? ''),
    unit: day ? 'hour' : 'day',
    by: 'business_line,charged_to',
    limit: 10_000,
  };
}

/** What the chosen view needs, given what is known by now. */
export function needsOf(asking: Asking, feed: Pick<Feed, 'part'>): readonly Need[] {
  const all = questions(asking);
  const { view, tenant } = asking.choice;
  const always = [all.status, ...(asking.status.tenant === null ? [all.tenants] : [])];
  switch (view) {
    case 'overview':
      return [...always, all.spend, all.budgets, all.live, all.routing];
    case 'spend':
      return [...always, all.spend, all.top];
    case 'budgets':
      return [...always, all.budgets, ...drawn(feed.part<Listed<Budget>>(all.budgets.key)).map(all.ofBudget)];
    case 'limits':
      return [...always, ...((tenant ?? asking.status.tenant) === null ? [] : [all.quotas])];
    case 'live':
      return [...always, all.live];
    case 'models':
      return [...always, all.routing];
    case 'keys':
      return [...always, all.keys];
  }
}

const drawn = ({ value }: Part<Listed<Budget>>): readonly Budget[] =>
  (value?.rows ?? []).filter(({ state }) => state !== null && state !== undefined).slice(0, DRAWN_BUDGETS);

/** What is known of all that the views show. */
export function factsOf(asking: Asking, feed: Pick<Feed, 'part'>): Facts {
  const all = questions(asking);
  const budgets = feed.part<Listed<Budget>>(all.budgets.key);
  const byId = new Map(drawn(budgets).map((budget) => [budget.id, all.ofBudget(budget).key]));
  return {
    tenants: feed.part(all.tenants.key),
    spend: feed.part(all.spend.key),
    top: feed.part(all.top.key),
    budgets,
    quotas: feed.part(all.quotas.key),
    live: feed.part(all.live.key),
    routing: feed.part(all.routing.key),
    keys: feed.part(all.keys.key),
    ofBudget: (id) => feed.part(byId.get(id) ?? ''),
  };
}

/** The status that the feed keeps. */
export const STATUS_KEY = JSON.stringify(['status']);
