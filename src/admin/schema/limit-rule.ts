import { z } from 'zod';
import type { LimitRule } from '../../core/directory.ts';
import type { LimitWindow } from '../../core/limit.ts';
import { isZone } from '../../lib/calendar/calendar-period.ts';
import { modelName } from './scalar.ts';

const MOST_AMOUNT = 1_000_000_000_000;
const MOST_SPEND = 1_000_000_000_000_000;
const DAY_SECONDS = 86_400;

const zone = () =>
  z
    .string()
    .max(64)
    .refine(isNamedZone, 'must be the name of a time zone such as Europe/Berlin')
    .optional()
    .describe('IANA name. Default: UTC.');

const windowSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('sliding').describe('No trailing window of that length holds more.'),
      seconds: z.int().min(1).max(DAY_SECONDS),
    }),
    z.strictObject({
      kind: z.literal('calendar').describe('Since the start of the day or month.'),
      unit: z.enum(['day', 'month']),
      zone: zone(),
    }),
    z.strictObject({ kind: z.literal('concurrent').describe('At one moment; given back when the request ends.') }),
  ])
  .meta({ id: 'LimitWindow' });

/** One limit, as the core's `LimitRule`. */
export const limitRule = z
  .strictObject({
    unit: z.enum(['requests', 'tokens', 'spend']),
    window: windowSchema,
    limit: z.int().min(0).max(MOST_SPEND).describe('Requests, tokens, or micro-units of the currency of prices.'),
    model: modelName().nullable().optional().describe('Only for requests for this model. Default: for all together.'),
  })
  .superRefine((rule, context) => {
    if (rule.unit !== 'spend' && rule.limit > MOST_AMOUNT)
      context.addIssue({ code: 'custom', path: ['limit'], message: `must be at most ${MOST_AMOUNT}` });
    if (rule.unit === 'spend' && rule.window.kind === 'concurrent')
      context.addIssue({ code: 'custom', path: ['window'], message: 'cannot be concurrent for spend' });
  })
  .meta({ id: 'LimitRule' });

export const limitRules = () =>
  z
    .array(limitRule)
    .max(32)
    .superRefine((rules, context) => {
      const seen = new Set<string>();
      rules.forEach((rule, index) => {
        const key = JSON.stringify([rule.unit, rule.window, rule.model ?? null]);
        if (seen.has(key))
          context.addIssue({ code: 'custom', path: [index], message: 'limits the same as an earlier one' });
        seen.add(key);
      });
    });

type WireRule = z.output<typeof limitRule>;

/** Stored form. */
export function toLimitRules(rules: readonly WireRule[]): readonly LimitRule[] {
  return rules.map(({ unit, window, limit, model }) => ({ unit, window: toWindow(window), limit, model: model ?? null }));
}

function toWindow(window: WireRule['window']): LimitWindow {
  if (window.kind !== 'calendar') return window;
  const { kind, unit, zone } = window;
  return zone === undefined ? { kind, unit } : { kind, unit, zone };
}

/** Offsets pass for zones in some engines only. */
function isNamedZone(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name) && isZone(name);
}
