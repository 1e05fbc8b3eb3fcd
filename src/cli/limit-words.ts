import { InvalidArgumentError } from 'commander';
import type { LimitRule } from '../core/directory.ts';
import type { LimitUnit, LimitWindow } from '../core/limit.ts';
import { formatMicroUnits, microUnits } from '../core/money.ts';
import { formatDuration, parseDuration } from '../config/units.ts';

/** How limits are written and shown; for `--help`. */
export const LIMIT_FORM = 'tokens|requests|spend/minute|hour|30s|day|month|concurrent=AMOUNT[,model=M][,zone=Z]';

const LIMIT = /^(requests|tokens|spend)\/([a-z0-9]+)=([0-9.]+)$/;
const AMOUNT = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/** `tokens/day=100000,model=m` as a rule. Throws `InvalidArgumentError` for any other form. */
export function parseLimit(text: string): LimitRule {
  const [head = '', ...more] = text.split(',');
  const [, unit, window, amount] = LIMIT.exec(head) ?? [];
  if (unit === undefined || window === undefined || amount === undefined) throw odd(text);
  let model: string | null = null;
  let zone: string | null = null;
  for (const part of more) {
    const [, key, value] = /^(model|zone)=(.+)$/.exec(part) ?? [];
    if (value === undefined) throw odd(text);
    if (key === 'model') model = value;
    else zone = value;
  }
  const limit = unit === 'spend' ? parseAmount(amount) : /^\d{1,15}$/.test(amount) ? Number(amount) : null;
  if (limit === null) throw odd(text);
  return { unit: unit as LimitUnit, window: windowOf(window, zone, text), limit, model };
}

/** A rule as `parseLimit` reads it. */
export function formatLimit({
  unit,
  window,
  limit,
  model = null,
}: Omit<LimitRule, 'model'> & { model?: string | null }): string {
  const zone = window.kind === 'calendar' && window.zone !== undefined ? `,zone=${window.zone}` : '';
  const amount = unit === 'spend' ? decimal(limit) : String(limit);
  return `${unit}/${windowWord(window)}=${amount}${model === null ? '' : `,model=${model}`}${zone}`;
}

/** `12.50` of a currency as 12500000 micro-units. Throws `InvalidArgumentError`. */
export function parseAmount(text: string): number {
  const [, whole, fraction = ''] = AMOUNT.exec(text) ?? [];
  if (whole === undefined) throw new InvalidArgumentError('An amount is written 250 or 12.50.');
  return Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0'));
}

/** Micro-units as a decimal without zeros that say nothing: `12.5`. */
export function decimal(micros: number): string {
  return formatMicroUnits(microUnits(micros)).replace(/\.?0+$/, '');
}

/** `minute`, `30s`, `day`, `concurrent`. */
export function windowWord(window: LimitWindow): string {
  switch (window.kind) {
    case 'concurrent':
      return 'concurrent';
    case 'calendar':
      return window.unit;
    case 'sliding':
      if (window.seconds === 60) return 'minute';
      return window.seconds === 3600 ? 'hour' : formatDuration(window.seconds * 1000);
  }
}

function windowOf(word: string, zone: string | null, text: string): LimitWindow {
  if (word === 'day' || word === 'month')
    return zone === null ? { kind: 'calendar', unit: word } : { kind: 'calendar', unit: word, zone };
  if (zone !== null) throw new InvalidArgumentError('Only day and month have a zone.');
  if (word === 'concurrent') return { kind: 'concurrent' };
  const ms = word === 'minute' ? 60_000 : word === 'hour' ? 3_600_000 : parseDuration(word);
  if (ms === null || ms < 1000 || ms % 1000 !== 0) throw odd(text);
  return { kind: 'sliding', seconds: ms / 1000 };
}

function odd(text: string): InvalidArgumentError {
  return new InvalidArgumentError(`"${text}" is no limit: write ${LIMIT_FORM}.`);
}
