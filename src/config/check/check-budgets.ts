import { isZone } from '../../lib/calendar/calendar-period.ts';
import { compilePrice } from '../compile/compile-price.ts';
import type { Path } from '../problem.ts';
import { didYouMean } from '../suggest.ts';
import type { CheckContext } from './finding.ts';
import { checkOutgoingUrl } from './outgoing-url.ts';

/** Rules about budgets, their channels, and limits in money. */
export function checkBudgets(context: CheckContext): void {
  const { document, problem } = context;
  const { channels, default_channels: defaults = [] } = document.budgets;
  const names = channels.map((channel) => channel.name);
  channels.forEach((channel, index) => {
    const path = ['budgets', 'channels', index];
    if (names.indexOf(channel.name) !== index) problem([...path, 'name'], `"${channel.name}" is named twice`);
    checkOutgoingUrl(context, channel, [...path, 'url']);
    if (channel.secret.startsWith('whsec_') && Buffer.from(channel.secret.slice(6), 'base64').length < 16)
      problem([...path, 'secret'], 'must hold at least 16 bytes in base64 after "whsec_"');
  });
  defaults.forEach((name, at) => {
    if (!names.includes(name))
      problem(['budgets', 'default_channels', at], `there is no channel "${name}".${didYouMean(name, names)}`);
  });
  checkZone(context);
  checkCurrencies(context);
}

function checkZone({ document, problem }: CheckContext): void {
  const { zone } = document.ledger;
  if (!isZone(zone)) problem(['ledger', 'zone'], `there is no time zone "${zone}": it must be an IANA name`);
}

/** Spending in two currencies cannot be added up, so a limit on it would mean nothing. */
function checkCurrencies({ document, problem }: CheckContext): void {
  const prices = document.models.flatMap((model) => model.deployments.map(({ price }) => compilePrice(price)));
  const priced = prices.filter((price) => price.promptPerMtok + price.completionPerMtok > 0);
  if (new Set(priced.map(({ currency }) => currency)).size < 2) return;
  const spends = (limits: object): boolean => Object.keys(limits).some((key) => key.startsWith('spend_'));
  const check = (rules: typeof document.tenant_defaults, path: Path): void => {
    const { limits, subject_limits: subjects, line_limits: lines, model_limits: models } = rules;
    if ([limits, subjects, ...Object.values(lines), ...Object.values(models)].some(spends))
      problem(path, 'has limits in money, but prices are in several currencies: all must be in one');
  };
  check(document.tenant_defaults, ['tenant_defaults']);
  document.tenants.forEach((tenant, index) => check(tenant, ['tenants', index]));
}
