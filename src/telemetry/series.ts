import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
type Sample = MetricValue<string> & { readonly metricName?: string };

interface SeriesOptions<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

/** What a registry asks of a metric. */
interface Shown {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: () => Sample[];
}

/** Cells by their label values, a map a label: nothing is made or hashed for a value that was seen before. */
class Cells<C> {
  readonly #names: readonly string[];
  readonly #make: (labels: Labels) => C;
  readonly #root = new Map<string, unknown>();
  readonly all: C[] = [];

  constructor(names: readonly string[], make: (labels: Labels) => C) {
    this.#names = names;
    this.#make = make;
  }

  at(values: readonly string[]): C {
    let map = this.#root;
    const last = values.length - 1;
    for (let index = 0; index < last; index += 1) {
      const value = values[index] ?? '';
      let next = map.get(value) as Map<string, unknown> | undefined;
      if (next === undefined) map.set(value, (next = new Map()));
      map = next;
    }
    const value = values[last] ?? '';
    const known = map.get(value) as C | undefined;
    if (known !== undefined) return known;
    const made = this.#make(Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? ''])));
    map.set(value, made);
    this.all.push(made);
    return made;
  }
}

/** Shows a series of ours in a registry of prom-client, whose own ones hash every label of every observation. */
function register({ registry, name, help }: SeriesOptions<string>, { type, samples }: Shown): void {
  const get = (): Promise<MetricObjectWithValues<Sample>> =>
    Promise.resolve({
      name,
      help,
      type,
      aggregator: 'sum',
      values: samples(),
    } as unknown as MetricObjectWithValues<Sample>);
  registry.registerMetric({ name, help, get } as unknown as Parameters<Registry['registerMetric']>[0]);
}

/** Adds to one of the figures, named by the values of its labels in their order. What is no number is passed over. */
export type AddTo = (labels: readonly string[], amount: number) => void;

/** A figure that is added to: a counter, or a gauge that goes both ways. */
export function createSum<L extends string>(options: SeriesOptions<L>, type: 'counter' | 'gauge' = 'counter'): AddTo {
  const cells = new Cells(options.labelNames, (labels) => ({ labels, value: 0 }));
  register(options, { type, samples: () => cells.all.map(({ labels, value }) => ({ labels: { ...labels }, value })) });
  return (labels, amount) => {
    if (Number.isFinite(amount)) cells.at(labels).value += amount;
  };
}

/** A distribution over `bounds`, ascending; each counts what is at most it. */
export function createDistribution<L extends string>(options: SeriesOptions<L>, bounds: readonly number[]): AddTo {
  const cells = new Cells(options.labelNames, (labels) => ({
    labels,
    sum: 0,
    counts: new Float64Array(bounds.length + 1),
  }));
  register(options, {
    type: 'histogram',
    samples: () =>
      cells.all.flatMap(({ labels, sum, counts }) => {
        let total = 0;
        const sample = (suffix: string, value: number, le?: number | string): Sample => ({
          metricName: `${options.name}_${suffix}`,
          labels: le === undefined ? { ...labels } : { le, ...labels },
          value,
        });
        const buckets = bounds.map((bound, index) => sample('bucket', (total += counts[index] ?? 0), bound));
        total += counts[bounds.length] ?? 0;
        return [...buckets, sample('bucket', total, '+Inf'), sample('sum', sum), sample('count', total)];
      }),
  });
  return (labels, value) => {
    if (!Number.isFinite(value)) return;
    const cell = cells.at(labels);
    cell.sum += value;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? Infinity)) index += 1;
    cell.counts[index] = (cell.counts[index] ?? 0) + 1;
  };
}
