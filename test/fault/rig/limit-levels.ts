import type { LimitRule } from '../../../src/core/directory.ts';
import type { LimitLine, LimitUnit, LimitWindow } from '../../../src/core/limit.ts';

/** Whom a limit binds. */
const LEVELS = ['tenant', 'line', 'key', 'subject', 'model'] as const;

export type Level = (typeof LEVELS)[number];

/** Whose limits these are: one of each, besides the tenant. */
export const NAMES = { line: 'x', key: 'key_1', subject: 'ann', model: 'm' } as const;
export type Names = Readonly<Record<keyof typeof NAMES, string>>;

const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
const MINUTE: LimitWindow = { kind: 'sliding', seconds: 60 };

/** What is limited, by the name that the configuration has for it. */
export const KINDS = {
  tokens_per_day: ['tokens', DAY],
  tokens_per_minute: ['tokens', MINUTE],
  requests_per_minute: ['requests', MINUTE],
  spend_per_day: ['spend', DAY],
  spend_per_month: ['spend', { kind: 'calendar', unit: 'month' }],
  concurrent_requests: ['requests', { kind: 'concurrent' }],
} as const satisfies Record<string, readonly [LimitUnit, LimitWindow]>;

export type Kind = keyof typeof KINDS;

/** One limit of one level. */
export interface LevelLimit {
  readonly level: Level;
  readonly kind: Kind;
  readonly limit: number;
}

/** The counter that stores know it by. */
export function lineOf({ level, kind, limit }: LevelLimit, names: Names = NAMES): LimitLine {
  const [unit, window] = KINDS[kind];
  return { scope: level === 'tenant' ? level : `${level}:${names[level]}`, unit, window, limit };
}

/** As an operator writes it on a tenant, business line or key; a model's is one of the tenant's. */
export function ruleOf({ level, kind, limit }: LevelLimit, names: Names = NAMES): LimitRule {
  const [unit, window] = KINDS[kind];
  return { unit, window, limit, model: level === 'model' ? names.model : null };
}

/** Every level with every kind. */
export const ALL_LIMITS: readonly Pick<LevelLimit, 'level' | 'kind'>[] = LEVELS.flatMap((level) =>
  (Object.keys(KINDS) as Kind[]).map((kind) => ({ level, kind })),
);
