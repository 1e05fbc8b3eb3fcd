import type { BudgetRecord, LineRecord, TenantRecord } from '../directory.ts';

/**
 * The directory as far as it is known here, at once: for the walk of a request. Records are those of the last word of the
 * store; while it is gone they stay as they were. Null or empty for what is not (yet) known.
 */
export interface DirectoryView {
  tenant(name: string): TenantRecord | null;
  line(tenant: string, name: string): LineRecord | null;
  /** Budgets of the tenant and of its business lines, in order of id. */
  budgets(tenant: string): readonly BudgetRecord[];
}

/** Of a server without a directory. */
export const NO_DIRECTORY: DirectoryView = { tenant: () => null, line: () => null, budgets: () => [] };
