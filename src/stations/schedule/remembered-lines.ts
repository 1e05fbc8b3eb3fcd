import type { BudgetRecord } from '../../core/directory.ts';
import type { LimitLine } from '../../core/limit.ts';
import type { Principal } from '../../core/principal.ts';
import { limitLines, type LimitsOf } from './limit-lines.ts';

/** What lines were made of. The records are never changed: a new word of the store brings new ones. */
interface Made {
  readonly config: LimitsOf['config'];
  readonly named: string;
  readonly meant: string;
  readonly records: readonly unknown[];
  readonly budgets: readonly BudgetRecord[];
  readonly lines: readonly LimitLine[];
}

/** By who asks: principals are remembered with their credentials, so that a client's next request brings the same one. */
const made = new WeakMap<Principal, Made>();

/**
 * `limitLines` for a request that asks for `named`, which is an alias of `meant` or the same. The same list again as long as
 * nothing that it depends on has changed.
 */
export function rememberedLines(of: Omit<LimitsOf, 'models'>, named: string, meant: string): readonly LimitLine[] {
  const { config, principal, directory } = of;
  const records = [directory.tenant(principal.tenant), directory.line(principal.tenant, principal.businessLine)];
  const budgets = directory.budgets(principal.tenant);
  const last = made.get(principal);
  if (
    last !== undefined &&
    last.config === config &&
    last.named === named &&
    last.meant === meant &&
    isSame(last.records, records) &&
    isSame(last.budgets, budgets)
  )
    return last.lines;
  const lines = limitLines({ ...of, models: [named, meant] });
  made.set(principal, { config, named, meant, records, budgets, lines });
  return lines;
}

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at]);
}
