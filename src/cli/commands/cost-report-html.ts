import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { startOfDay } from '../../lib/calendar/calendar-period.ts';
import { budgetSpend } from '../../ui/data/spend.ts';
import type { Budget, List, SpendRow, Status, TopRequest } from '../../ui/data/wire.ts';
import { reportPage } from '../../ui/report/report-page.ts';
import { pathOf, type AdminClient, type Answer } from '../admin-client.ts';
import { UserError } from '../user-error.ts';
import { version } from '../../app/version.ts';
import { dayAfter, dayOf } from '../zone-day.ts';

/** What a report is about. `from` and `to` are days, or whole hours as times, `to` excluded. */
export interface ReportRange {
  readonly from: string;
  readonly to: string;
  readonly unit: 'day' | 'hour';
}

const HOUR_MS = 3_600_000;
const PAGE = 10_000;
/** Every day's dearest requests are a question of their own. */
const TOP_DAYS = 31;
const TOP = 10;
const STYLE = new URL('../../ui/style/base.css', import.meta.url);

/** Asks for all that the report shows, and gives its HTML. Throws `UserError`, `ApiError`. */
export async function htmlReport(
  client: AdminClient,
  {
    range,
    tenant,
    zone,
    now,
  }: { readonly range: ReportRange; readonly tenant: string | undefined; readonly zone: string; readonly now: number },
): Promise<string> {
  const starts = startsOf(range, zone);
  const by = 'tenant,model,business_line,request_type,charged_to';
  const rows = await listAs<SpendRow>(client, 'spend', { ...range, tenant, by, limit: PAGE });
  const style = readFileSync(STYLE, 'utf8');
  return reportPage(
    {
      tenant: tenant ?? (await tenantOf(client)),
      from: starts[0] ?? now,
      to: timeOf(range.to, zone),
      unit: range.unit,
      starts,
      zone,
      generatedAt: now,
      rows,
      top: await topOf(client, { starts, tenant, zone, now }),
      budgets: await budgetsOf(client, tenant),
    },
    { style, styleHash: createHash('sha256').update(style).digest('base64'), version: version() },
  );
}

/** Writes the file as a whole: one that is there stays until the new one is complete. Throws `UserError`. */
export function writeReport(file: string, html: string): void {
  const beside = `${file}.${randomUUID()}.tmp`;
  try {
    writeFileSync(beside, html, { flag: 'wx' });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw new UserError(`cannot write ${file} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

/** Whom the caller stands for; null = all tenants. */
async function tenantOf(client: AdminClient): Promise<string | null> {
  const { body } = await client.get(pathOf('status'));
  return (body as unknown as Status).tenant;
}

const timeOf = (text: string, zone: string): number => (text.includes('T') ? Date.parse(text) : startOfDay(text, zone));

function startsOf({ from, to, unit }: ReportRange, zone: string): readonly number[] {
  const starts: number[] = [];
  if (unit === 'hour') for (let at = Date.parse(from); at < Date.parse(to); at += HOUR_MS) starts.push(at);
  else for (let day = from; day < to; day = dayAfter(day, 1)) starts.push(startOfDay(day, zone));
  return starts;
}

async function topOf(
  client: AdminClient,
  {
    starts,
    tenant,
    zone,
    now,
  }: {
    readonly starts: readonly number[];
    readonly tenant: string | undefined;
    readonly zone: string;
    readonly now: number;
  },
): Promise<{ readonly requests: readonly TopRequest[]; readonly note: string }> {
  const all = [...new Set(starts.filter((at) => at <= now).map((at) => dayOf(at, zone)))];
  const days = all.slice(-TOP_DAYS);
  const requests: TopRequest[] = [];
  for (const day of days) {
    const { body } = await client.get(pathOf('top'), { tenant, day, count: TOP });
    requests.push(...(body as unknown as List<TopRequest>).data);
  }
  const note = days.length < all.length ? `of the last ${TOP_DAYS} days of this time` : 'of this time';
  return { requests, note };
}

/** The budgets, each with what its tenant or line spent in the running period. */
async function budgetsOf(client: AdminClient, tenant: string | undefined) {
  const budgets = await listAs<Budget>(client, 'budgets', { tenant });
  const known = new Map<string, readonly SpendRow[]>();
  const found: { readonly budget: Budget; readonly rows: readonly SpendRow[] }[] = [];
  for (const budget of budgets) {
    const { state, period } = budget;
    if (state === null || state === undefined) {
      found.push({ budget: { ...budget, state: null }, rows: [] });
      continue;
    }
    const range = wholeRange(state.from, state.to, period);
    const key = JSON.stringify([budget.tenant, range]);
    const query = { ...range, tenant: budget.tenant, by: 'business_line,charged_to', limit: PAGE };
    const rows = known.get(key) ?? (await listAs<SpendRow>(client, 'spend', query));
    known.set(key, rows);
    found.push({ budget, rows: rows.filter((row) => budgetSpend(row, budget)) });
  }
  return found;
}

function wholeRange(from: string, to: string, period: Budget['period']) {
  if (period === 'month') return { from, to, unit: 'day' } as const;
  const hour = (text: string, round: (value: number) => number): string =>
    new Date(round(Date.parse(text) / HOUR_MS) * HOUR_MS).toISOString();
  return { from: hour(from, Math.floor), to: hour(to, Math.ceil), unit: 'hour' } as const;
}

/** A list whose entries have the shape that the API's schema promises. */
async function listAs<T>(client: AdminClient, what: string, query: Answer): Promise<readonly T[]> {
  return (await client.list(
    pathOf(what),
    query as Record<string, string | number | undefined>,
  )) as unknown as readonly T[];
}
