import { currenciesOf, dearest, ofCurrency } from '../data/spend.ts';
import type { Budget, SpendRow, TopRequest } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { toMarkup } from '../markup/to-markup.ts';
import { budgetCard } from '../parts/budget-parts.ts';
import { spendBy, spendOverTime, spendTotals, topRequests } from '../parts/spend-parts.ts';
import { dateTime, longDay } from '../text/format.ts';

/** All that a report shows. Times are Unix milliseconds. */
export interface ReportData {
  /** null = all tenants. */
  readonly tenant: string | null;
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  readonly unit: 'day' | 'hour';
  readonly starts: readonly number[];
  readonly zone: string;
  readonly generatedAt: number;
  /** By tenant, model, business line, request type and who bears it. */
  readonly rows: readonly SpendRow[];
  readonly top: { readonly requests: readonly TopRequest[]; readonly note: string };
  readonly budgets: readonly { readonly budget: Budget; readonly rows: readonly SpendRow[] }[];
}

const TOP = 10;

/** The report as one HTML document. `style` is its look; `styleHash` its SHA-256 in base64, for the content security policy. */
export function reportPage(
  data: ReportData,
  { style, styleHash, version }: { readonly style: string; readonly styleHash: string; readonly version: string },
): string {
  if (/<\/style/i.test(style)) throw new RangeError('the style would end itself');
  const csp = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;
  const title = `Cost report, ${data.tenant ?? 'all tenants'}`;
  const head = [
    '<meta charset="utf-8">',
    toMarkup(h('meta', { 'http-equiv': 'Content-Security-Policy', content: csp })),
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    toMarkup(h('meta', { name: 'generator', content: `TokenLat ${version}` })),
    toMarkup(h('title', {}, title)),
    `<style>${style}</style>`,
  ];
  return `<!doctype html>\n<html lang="en">\n<head>\n${head.join('\n')}\n</head>\n${toMarkup(body(data, version))}\n</html>\n`;
}

function body(data: ReportData, version: string): UiElement {
  const currencies = currenciesOf(data.rows);
  return h(
    'body',
    { class: 'report' },
    h('a', { class: 'skip', href: '#content' }, 'Skip to the figures'),
    h(
      'header',
      { class: 'report-head' },
      h('p', { class: 'brand' }, 'TokenLat'),
      h('h1', {}, 'Cost report'),
      about(data),
    ),
    h(
      'main',
      { id: 'content', tabindex: '-1' },
      currencies.length === 0
        ? h('p', { class: 'none' }, 'Nothing was spent in this time.')
        : currencies.map((currency, at) => spending(data, currency, at)),
      topRequests({ id: 'top', requests: dearest(data.top.requests, TOP), zone: data.zone, note: data.top.note }),
      budgets(data),
    ),
    h(
      'footer',
      {},
      h('p', {}, `Made by TokenLat ${version} from the sums of the ledger. All days are of the zone ${data.zone}.`),
    ),
  );
}

function about({ tenant, from, to, zone, generatedAt }: ReportData): UiElement {
  const last = longDay(to - 1, zone);
  const facts: readonly (readonly [string, Child])[] = [
    ['Tenant', tenant === null ? 'All tenants' : h('bdi', {}, tenant)],
    ['Range', longDay(from, zone) === last ? last : `${longDay(from, zone)} \u2013 ${last}`],
    ['Zone', zone],
    ['Generated', h('time', { datetime: new Date(generatedAt).toISOString() }, dateTime(generatedAt, zone))],
  ];
  return h(
    'dl',
    { class: 'about' },
    facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

function spending(data: ReportData, currency: string, at: number): Child {
  const { zone, unit, starts, tenant } = data;
  const rows = ofCurrency(data.rows, currency);
  const part = (name: string) => ({ id: `${name}-${at}`, rows, currency, zone, unit, starts });
  return [
    spendTotals({ rows, currency }),
    h(
      'div',
      { class: 'cards' },
      spendOverTime({ ...part('time'), width: 1040 }),
      spendBy(part('model'), { dimension: 'model', title: 'By model', head: 'Model' }),
      spendBy(part('line'), { dimension: 'business_line', title: 'By business line', head: 'Business line' }),
      spendBy(part('type'), { dimension: 'request_type', title: 'By request type', head: 'Request type' }),
      tenant === null ? spendBy(part('tenant'), { dimension: 'tenant', title: 'By tenant', head: 'Tenant' }) : null,
    ),
  ];
}

function budgets({ budgets: all, generatedAt: now, zone }: ReportData): Child {
  return [
    h('h2', { class: 'group' }, 'Budgets'),
    all.length === 0
      ? h('p', { class: 'none' }, 'There is no budget.')
      : h(
          'div',
          { class: 'cards' },
          all.map(({ budget, rows }, at) => budgetCard(budget, { id: `budget-${at}`, rows, now, zone })),
        ),
  ];
}
