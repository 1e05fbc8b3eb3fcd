import { Counter, Gauge, type Registry } from 'prom-client';
import type { BudgetMetrics } from '../core/ports/budget-state.ts';
import { createLabelBound } from './bounded-labels.ts';

/** Figures of budgets for Prometheus. No label holds a tenant; each takes at most `labelValues` values, then says `other`. */
export function createBudgetMetrics({
  registry,
  labelValues,
}: {
  readonly registry: Registry;
  readonly labelValues: number;
}): BudgetMetrics {
  const registers = [registry];
  const alerts = new Counter({
    name: 'tokenlat_budget_alerts_total',
    help: 'Alerts raised, by the percentage of the budget that was reached',
    labelNames: ['percent'],
    registers,
  });
  const protecting = new Gauge({
    name: 'tokenlat_cost_protection',
    help: 'Business lines and tenants in cost protection',
    registers,
    // Every worker sees the same ones.
    aggregator: 'max',
  });
  const deliveries = new Counter({
    name: 'tokenlat_alert_deliveries_total',
    help: 'Tries to deliver an alert to a channel, by outcome',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  const percents = createLabelBound(labelValues);
  const channels = createLabelBound(labelValues);
  return {
    alert: (_tenant, _businessLine, percent) => alerts.inc({ percent: percents(String(percent)) }),
    protecting: (count) => protecting.set(count),
    delivery: (channel, outcome) => deliveries.inc({ channel: channels(channel), outcome }),
  };
}
