import { Counter, type Registry } from 'prom-client';

/** Counts what became of the questions of other proxies, for Prometheus. */
export function createPickMetrics(registry: Registry): (outcome: string) => void {
  const picks = new Counter({
    name: 'tokenlat_picks_total',
    help: 'Picks of endpoints for other proxies; moved: another one than the first of the list served',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => picks.inc({ outcome });
}
