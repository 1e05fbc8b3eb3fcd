import type { LimitRule } from '../../../src/core/directory.ts';
import type { LimitLine, LimitUnit, LimitWindow } from '../../../src/core/limit.ts';

/** Whom a limit binds, and by what scope stores know it. */
export const LEVELS = {
  tenant: 'tenant',
  line: 'line:x',
  key: 'key:key_1',
  subject: 'subject:ann',
  model: 'model:m',
} as const;

export type Level = keyof typeof LEVELS;
export const LEVEL_NAMES = Object.keys(LEVELS) as readonly Level[];

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
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

/** One limit of one level. */
export interface LevelLimit {
  readonly level: Level;
  readonly kind: Kind;
  readonly limit: number;
}

export function lineOf({ level, kind, limit }: LevelLimit): LimitLine {
  const [unit, window] = KINDS[kind];
  return { scope: LEVELS[level], unit, window, limit };
}

/** As an operator writes it on a tenant, business line or key; a model's is one of the tenant's. */
export function ruleOf({ level, kind, limit }: LevelLimit): LimitRule {
  const [unit, window] = KINDS[kind];
  return { unit, window, limit, model: level === 'model' ? 'm' : null };
}

/** Every level with every kind. */
export const ALL_LIMITS: readonly Pick<LevelLimit, 'level' | 'kind'>[] = LEVEL_NAMES.flatMap((level) =>
  KIND_NAMES.map((kind) => ({ level, kind })),
);
