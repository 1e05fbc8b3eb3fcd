import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

/** prom-client's JSON form of one process's registry. */
export type ProcessFigures = readonly MetricObjectWithValues<MetricValue<string>>[];

/** The figures of several processes as one, in the text format of Prometheus. */
export function sumMetrics(processes: readonly ProcessFigures[]): Promise<string> {
  return AggregatorRegistry.aggregate(processes.map((figures) => [...figures])).metrics();
}
