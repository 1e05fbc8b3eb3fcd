import type {
  BudgetRecord,
  DeploymentRecord,
  DirectoryRecord,
  LineRecord,
  TenantRecord,
} from '../../core/directory.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';

/** The kinds of records that a view holds; keys are looked up one by one. */
export type ViewedKind = 'tenant' | 'line' | 'budget' | 'deployment';
export type ViewedRecord = Extract<DirectoryRecord, { readonly kind: ViewedKind }>;

const NONE: readonly BudgetRecord[] = [];

/** Records by kind and id. `most`: how many of one kind are kept; further ones are turned away. */
export class DirectoryTables implements DirectoryView {
  readonly #most: number;
  readonly #tenants = new Map<string, TenantRecord>();
  readonly #lines = new Map<string, LineRecord>();
  readonly #budgets = new Map<string, BudgetRecord>();
  readonly #deployments = new Map<string, DeploymentRecord>();
  readonly #byTenant = new Map<string, readonly BudgetRecord[]>();

  constructor(most: number) {
    this.#most = most;
  }

  tenant(name: string): TenantRecord | null {
    return this.#tenants.get(name) ?? null;
  }

  line(tenant: string, name: string): LineRecord | null {
    return this.#lines.get(`${tenant}/${name}`) ?? null;
  }

  budgets(tenant: string): readonly BudgetRecord[] {
    return this.#byTenant.get(tenant) ?? NONE;
  }

  deployment(id: string): DeploymentRecord | null {
    return this.#deployments.get(id) ?? null;
  }

  /** Every budget, in order of tenant and id. */
  allBudgets(): readonly BudgetRecord[] {
    return [...this.#byTenant.keys()].toSorted().flatMap((tenant) => this.budgets(tenant));
  }

  /** False when there is no room for it. */
  set(record: ViewedRecord): boolean {
    switch (record.kind) {
      case 'tenant':
        return this.#put(this.#tenants, record.name, record);
      case 'line':
        return this.#put(this.#lines, `${record.tenant}/${record.name}`, record);
      case 'deployment':
        return this.#put(this.#deployments, record.id, record);
      case 'budget': {
        const before = this.#budgets.get(record.id);
        if (!this.#put(this.#budgets, record.id, record)) return false;
        if (before !== undefined) this.#index(before.tenant, before.id, null);
        this.#index(record.tenant, record.id, record);
        return true;
      }
      default:
        return record satisfies never;
    }
  }

  remove(kind: ViewedKind, id: string): void {
    if (kind === 'tenant') this.#tenants.delete(id);
    if (kind === 'line') this.#lines.delete(id);
    if (kind === 'deployment') this.#deployments.delete(id);
    if (kind !== 'budget') return;
    const before = this.#budgets.get(id);
    this.#budgets.delete(id);
    if (before !== undefined) this.#index(before.tenant, id, null);
  }

  #put<T>(table: Map<string, T>, id: string, record: T): boolean {
    if (!table.has(id) && table.size >= this.#most) return false;
    table.set(id, record);
    return true;
  }

  #index(tenant: string, id: string, record: BudgetRecord | null): void {
    const others = this.budgets(tenant).filter((budget) => budget.id !== id);
    const all = record === null ? others : [...others, record].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    if (all.length === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, all);
  }
}
