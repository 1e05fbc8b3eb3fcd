import { Counter, Gauge, type Registry } from 'prom-client';
import type { SinkMetrics } from '../core/ports/sink-metrics.ts';

const STATES = ['following', 'failing'] as const;

/** Figures of the ledger's sink for Prometheus. Where several processes report, the one that leads is the largest. */
export function createSinkMetrics({ registry }: { readonly registry: Registry }): SinkMetrics {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> =>
    new Gauge({ name, help, labelNames: [...labelNames], registers, aggregator: 'max' });
  const sent = new Counter({
    name: 'tokenlat_ledger_sink_events_total',
    help: 'Ledger events that the sink took, repetitions included',
    registers,
  });
  const cut = new Counter({
    name: 'tokenlat_ledger_sink_cut_events_total',
    help: 'Ledger events that were dropped before the sink took them (ledger.sink.keep_unsent)',
    registers,
  });
  const states = gauge('tokenlat_ledger_sink_state', '1 for the state that the sink is in', ['state']);
  const events = gauge('tokenlat_ledger_sink_lag_events', 'Ledger events that the sink does not have yet');
  const seconds = gauge('tokenlat_ledger_sink_lag_seconds', 'Age of the oldest of them');
  const failed = gauge('tokenlat_ledger_sink_last_error_timestamp_seconds', 'When it failed last; 0 = never');
  for (const state of STATES) states.set({ state }, 0);
  return {
    sent: (count) => sent.inc(count),
    cut: (count) => cut.inc(count),
    state: (now) => {
      for (const state of STATES) states.set({ state }, state === now ? 1 : 0);
    },
    lag: (count, ms) => {
      events.set(count);
      seconds.set(ms / 1000);
    },
    failedAt: (time) => failed.set(time / 1000),
  };
}
