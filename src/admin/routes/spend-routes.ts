import { z } from 'zod';
import { formatMicroUnits } from '../../core/money.ts';
import type { SpendDimension, SpendRow } from '../../core/ports/spend-reader.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminReply, AdminRoute } from '../route.ts';
import { SPEND_DIMENSIONS, spendRow, topRequest } from '../schema/report.ts';
import { listOf, pageQuery, showTime, tenantQuery, timeOrDay } from '../schema/scalar.ts';
import { pageOf, readCursor } from './cursor.ts';
import { toCsv } from './csv.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Zones lie at quarters of an hour. */
const QUARTER = HOUR / 4;
const LONGEST = { hour: 31 * DAY, day: 400 * DAY } as const;

const spendQuery = z.strictObject({
  tenant: tenantQuery(),
  from: timeOrDay().describe('Included. A day means its start in the zone of the ledger.'),
  to: timeOrDay().describe('Excluded. At most 31 days of hours or 400 days of days.'),
  unit: z.enum(['hour', 'day']).default('day'),
  by: z
    .string()
    .max(100)
    .regex(
      new RegExp(`^(?:${SPEND_DIMENSIONS.join('|')})(?:,(?:${SPEND_DIMENSIONS.join('|')}))*$`),
      `must be of ${SPEND_DIMENSIONS.join(', ')}, with commas`,
    )
    .optional()
    .describe(`Any of ${SPEND_DIMENSIONS.join(', ')}, with commas between. Default: all together.`),
  format: z.enum(['json', 'csv']).default('json'),
  ...pageQuery(10_000),
});

/** Checks the range against what roll-ups can answer. */
function rangeOf(
  { from, to, unit }: Pick<z.output<typeof spendQuery>, 'from' | 'to' | 'unit'>,
  dayStart: (date: string) => number,
): { readonly from: number; readonly to: number } {
  const at = (text: string, param: string): number => {
    const ms = text.includes('T') ? Date.parse(text) : dayStart(text);
    if (ms % (unit === 'hour' ? HOUR : QUARTER) === 0) return ms;
    throw new AdminError('invalid_value', `${param} must be the start of ${unit === 'hour' ? 'an hour' : 'a day'}.`, {
      param,
    });
  };
  const range = { from: at(from, 'from'), to: at(to, 'to') };
  if (range.to <= range.from) throw new AdminError('invalid_value', 'to must be later than from.', { param: 'to' });
  if (range.to - range.from > LONGEST[unit])
    throw new AdminError('invalid_value', `to is too late: at most ${LONGEST[unit] / DAY} days of ${unit}s at once.`, {
      param: 'to',
    });
  return range;
}

/** Sorts rows, so that a page can begin where one ended even when rows came in between. */
function sortKey(row: SpendRow, by: readonly SpendDimension[]): string {
  return JSON.stringify([String(row.at).padStart(16, '0'), ...by.map((key) => row.keys[key] ?? ''), row.currency]);
}

function showRow(row: SpendRow): z.output<typeof spendRow> {
  return {
    at: showTime(row.at),
    keys: row.keys,
    currency: row.currency,
    requests: row.requests,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    completion_tokens: row.completionTokens,
    cost_micros: row.cost,
    cost: formatMicroUnits(row.cost),
  };
}

const FIGURES = ['requests', 'prompt_tokens', 'cached_tokens', 'completion_tokens', 'cost_micros'] as const;

function asCsv(
  rows: readonly z.output<typeof spendRow>[],
  by: readonly SpendDimension[],
  next: string | null,
): AdminReply {
  const lines = rows.map((row) => [
    row.at,
    ...by.map((key) => row.keys[key] ?? ''),
    ...FIGURES.map((key) => row[key]),
    row.cost,
    row.currency,
  ]);
  const content = toCsv(['at', ...by, ...FIGURES, 'cost', 'currency'], lines);
  const headers: Record<string, string> = next === null ? {} : { 'x-next-cursor': next };
  return { body: null, text: { type: 'text/csv; charset=utf-8', content, headers } };
}

const spend = route({
  name: 'spend.read',
  method: 'GET',
  path: '/admin/spend',
  summary: 'What was spent, by hour or day',
  description: 'With `format=csv` the cursor of the next page comes as the header `x-next-cursor`.',
  rule: { kind: 'role', role: 'viewer', tenant: 'query' },
  params: null,
  query: spendQuery,
  body: null,
  reply: { status: 200, schema: listOf(spendRow), also: ['text/csv'] },
  run: async ({ query, tenant, deps }) => {
    const by = [...new Set((query.by ?? '').split(',').filter((key) => key !== ''))] as SpendDimension[];
    const after = readCursor(query.cursor);
    const found = await deps.spend.spend({ tenant, ...rangeOf(query, deps.dayStart), unit: query.unit, by });
    const keyed = found
      .map((row) => ({ row, key: sortKey(row, by) }))
      .filter(({ key }) => after === null || key > after)
      .toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    const { items, next_cursor } = pageOf(keyed, query.limit, ({ key }) => key);
    const rows = items.map(({ row }) => showRow(row));
    return query.format === 'csv'
      ? asCsv(rows, by, next_cursor)
      : { body: { object: 'list', data: rows, next_cursor } };
  },
});

const top = route({
  name: 'spend.top',
  method: 'GET',
  path: '/admin/top',
  summary: 'The dearest requests of a day',
  rule: { kind: 'role', role: 'viewer', tenant: 'query' },
  params: null,
  query: z.strictObject({
    tenant: tenantQuery(),
    day: z.iso.date({ error: 'must be a day such as 2027-01-31' }).describe('In the zone of the ledger.'),
    count: z.int().min(1).max(100).default(20),
  }),
  body: null,
  reply: { status: 200, schema: listOf(topRequest) },
  run: async ({ query, tenant, deps }) => {
    const found = await deps.spend.top({ tenant, day: deps.dayStart(query.day), count: query.count });
    const data = found
      .filter((request) => tenant === null || request.tenant === tenant)
      .map((request) => ({
        request_id: request.requestId,
        tenant: request.tenant,
        model: request.model,
        backend: request.backend,
        business_line: request.businessLine,
        at: showTime(request.time),
        total_tokens: request.totalTokens,
        cost_micros: request.cost,
        cost: formatMicroUnits(request.cost),
        currency: request.currency,
      }));
    return { body: { object: 'list', data, next_cursor: null } };
  },
});

export const spendRoutes: readonly AdminRoute[] = [spend, top];
