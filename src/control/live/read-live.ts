import type { Clock } from '../../core/ports/clock.ts';
import type { LiveRow, LiveState, LiveStore, QueueRow, WorkerLive } from '../../core/ports/live.ts';
import { addSparse, BUCKETS, quantileOf } from '../../lib/histogram/log-histogram.ts';

export interface ReadLiveOptions {
  readonly store: Pick<LiveStore, 'read'>;
  readonly clock: Pick<Clock, 'time'>;
  /** What was known last holds for this long while the store is away. */
  readonly holdMs?: number;
}

/** What happens now, over all workers. Never rejects: while the store is away, what was known last; then nothing. */
export function createReadLive({ store, clock, holdMs = 60_000 }: ReadLiveOptions): () => Promise<LiveState> {
  let last: LiveState = { at: 0, replicas: [], rows: [], queues: [] };
  return async () => {
    try {
      last = mergeLive(await store.read(), clock.time());
    } catch {
      if (clock.time() - last.at > holdMs) last = { at: clock.time(), replicas: [], rows: [], queues: [] };
    }
    return last;
  };
}

/** Adds up what workers said. `at`: Unix milliseconds. */
export function mergeLive(workers: readonly WorkerLive[], at: number): LiveState {
  const replicas = new Map<string, LiveState['replicas'][number]>();
  const rows = new Map<string, Sum>();
  for (const { replica, startedAt, running, rows: own } of workers) {
    const known = replicas.get(replica) ?? { id: replica, startedAt, workers: 0, running: 0 };
    replicas.set(replica, {
      id: replica,
      startedAt: Math.min(known.startedAt, startedAt),
      workers: known.workers + 1,
      running: known.running + running,
    });
    for (const row of own) {
      const name = `${row.route}\n${row.deployment}`;
      const sum = rows.get(name) ?? new Sum(row);
      rows.set(name, sum);
      sum.add(row);
    }
  }
  return {
    at,
    replicas: [...replicas.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    rows: [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum.show()),
    queues: mergeQueues(workers.flatMap(({ queues }) => queues ?? [])),
  };
}

function mergeQueues(all: readonly QueueRow[]): LiveState['queues'] {
  const models = [...new Set(all.map(({ model }) => model))].toSorted();
  return models.map((model) => {
    const rows = all.filter((row) => row.model === model);
    const sum = (pick: (row: QueueRow) => number): number => rows.reduce((total, row) => total + pick(row), 0);
    const waits = new Float64Array(BUCKETS);
    for (const row of rows) addSparse(waits, row.waits);
    return {
      model,
      interactive: sum(({ interactive }) => interactive),
      batch: sum(({ batch }) => batch),
      oldestMs: Math.max(...rows.map(({ oldestMs }) => oldestMs)),
      refused: sum(({ refused }) => refused),
      waited: waits.reduce((total, count) => total + count, 0),
      waitP95: shown(quantileOf(waits, 0.95)),
    };
  });
}

class Sum {
  readonly #first: LiveRow;
  #running = 0;
  #requests = 0;
  #errors = 0;
  #tokens = 0;
  readonly #latency = new Float64Array(BUCKETS);
  readonly #firstToken = new Float64Array(BUCKETS);
  readonly #warmLatency = new Float64Array(BUCKETS);
  #warm = 0;
  #cold = 0;

  constructor(first: LiveRow) {
    this.#first = first;
  }

  add({ running, requests, errors, tokens, latency, firstToken, loads }: LiveRow): void {
    this.#running += running;
    this.#requests += requests;
    this.#errors += errors;
    this.#tokens += tokens;
    addSparse(this.#latency, latency);
    addSparse(this.#firstToken, firstToken);
    if (loads === undefined) return;
    this.#warm += loads.warm;
    this.#cold += loads.cold;
    addSparse(this.#warmLatency, loads.warmLatency);
  }

  show(): LiveState['rows'][number] {
    const { route, model, deployment, backend } = this.#first;
    return {
      route,
      model,
      deployment,
      backend,
      running: this.#running,
      requests: this.#requests,
      errors: this.#errors,
      tokens: this.#tokens,
      latencyP50: shown(quantileOf(this.#latency, 0.5)),
      latencyP95: shown(quantileOf(this.#latency, 0.95)),
      firstTokenP50: shown(quantileOf(this.#firstToken, 0.5)),
      coldShare: this.#warm + this.#cold === 0 ? null : this.#cold / (this.#warm + this.#cold),
      warmP95: shown(quantileOf(this.#warmLatency, 0.95)),
    };
  }
}

/** More digits than the histogram knows would be made up. */
function shown(ms: number | null): number | null {
  return ms === null ? null : Number(ms.toPrecision(3));
}
