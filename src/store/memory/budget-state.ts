import type { BudgetStateStore, BudgetStatus, PendingAlert } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** `BudgetStateStore` in this process: for tests, and for running without Redis. */
export function createMemoryBudgetState({ clock }: { readonly clock: Pick<Clock, 'now'> }): BudgetStateStore {
  const statuses = new Map<string, BudgetStatus>();
  const raised = new Map<string, number>();
  const pending = new Map<string, PendingAlert>();
  const watchers = new Set<{ readonly onChange: () => void }>();
  let next = 0;
  const tell = (): void => {
    for (const { onChange } of watchers) onChange();
  };
  return {
    list: async () => [...statuses.values()],
    put: async (status) => {
      statuses.set(status.budget, status);
      tell();
    },
    drop: async (budget) => {
      if (statuses.delete(budget)) tell();
    },
    raise: async (alert, channels, keepMs) => {
      const now = clock.now();
      for (const [id, until] of raised) if (now >= until) raised.delete(id);
      if (raised.has(alert.id)) return false;
      raised.set(alert.id, now + keepMs);
      for (const channel of channels) pending.set(`${alert.id} ${channel}`, { alert, channel });
      return true;
    },
    pending: async (count) => {
      const all = [...pending.values()];
      if (next >= all.length) next = 0;
      const page = all.slice(next, next + count);
      next += count;
      return page;
    },
    delivered: async (alert, channel) => void pending.delete(`${alert} ${channel}`),
    watch: (onChange) => {
      const watcher = { onChange };
      watchers.add(watcher);
      return { close: () => void watchers.delete(watcher) };
    },
  };
}
