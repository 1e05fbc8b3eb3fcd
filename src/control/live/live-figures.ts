import type { Clock } from '../../core/ports/clock.ts';
import type { LiveFigures, LiveRow, LiveTry } from '../../core/ports/live.ts';
import { bucketOf, BUCKETS, sparseOf } from '../../lib/histogram/log-histogram.ts';
import { SlidingCounts } from '../../lib/histogram/sliding-counts.ts';

export interface LiveFiguresOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Rows at once; what is beyond them is counted as `other`. */
  readonly mostRows?: number;
}

/** What this process does for each route and deployment. */
export interface CollectedFigures extends LiveFigures {
  /** Everything that ran in the last minute. What did not is forgotten. */
  readonly rows: () => readonly LiveRow[];
}

const WINDOW = { windowMs: 60_000, slots: 12 };
const [REQUESTS, ERRORS, TOKENS] = [0, 1, 2];
const [WARM, COLD] = [0, 1];
const OTHER = { id: 'other', model: 'other', backend: { name: 'other' } };

/** Counts the tries of the last minute. Each costs the same few additions, however many there are. */
export function createLiveFigures({ clock, mostRows = 200 }: LiveFiguresOptions): CollectedFigures {
  const routes = new Map<string, Map<string, Row>>();
  let size = 0;

  function rowOf(route: string, deployment: Parameters<LiveFigures['begin']>[1]): Row {
    let own = routes.get(route);
    const known = own?.get(deployment.id);
    if (known !== undefined) return known;
    if (size >= mostRows && deployment !== OTHER) return rowOf('other', OTHER);
    if (own === undefined) routes.set(route, (own = new Map()));
    const made = new Row(route, deployment, clock);
    own.set(deployment.id, made);
    size += 1;
    return made;
  }

  return {
    begin(route, deployment) {
      const row = rowOf(route, deployment);
      row.running += 1;
      return row;
    },
    rows() {
      const shown: LiveRow[] = [];
      for (const [route, own] of routes) {
        for (const [id, row] of own) {
          const seen = row.show();
          if (seen !== null) shown.push(seen);
          else if (own.delete(id)) size -= 1;
        }
        if (own.size === 0) routes.delete(route);
      }
      return shown;
    },
  };
}

/** Also what follows each of its tries: they differ in nothing that is to be remembered. */
class Row implements LiveTry {
  running = 0;
  readonly #route: string;
  readonly #deployment: Parameters<LiveFigures['begin']>[1];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #counts = new SlidingCounts({ size: 3, ...WINDOW });
  readonly #latency = new SlidingCounts({ size: BUCKETS, ...WINDOW });
  readonly #firstToken = new SlidingCounts({ size: BUCKETS, ...WINDOW });
  /** Made when it first has to do with models that are loaded when asked for. */
  #loads: { readonly counts: SlidingCounts; readonly warmLatency: SlidingCounts } | null = null;

  constructor(route: string, deployment: Parameters<LiveFigures['begin']>[1], clock: Pick<Clock, 'now'>) {
    this.#route = route;
    this.#deployment = deployment;
    this.#clock = clock;
  }

  end({ served, failed, ms, firstTokenMs, tokens, isCold = null }: Parameters<LiveTry['end']>[0]): void {
    const now = this.#clock.now();
    this.running -= 1;
    this.#counts.add(REQUESTS, 1, now);
    if (failed) this.#counts.add(ERRORS, 1, now);
    if (tokens > 0) this.#counts.add(TOKENS, tokens, now);
    if (isCold !== null) this.#noteLoad(isCold, served ? (firstTokenMs ?? ms) : null, now);
    if (!served) return;
    this.#latency.add(bucketOf(ms), 1, now);
    if (firstTokenMs !== null) this.#firstToken.add(bucketOf(firstTokenMs), 1, now);
  }

  #noteLoad(isCold: boolean, ms: number | null, now: number): void {
    this.#loads ??= {
      counts: new SlidingCounts({ size: 2, ...WINDOW }),
      warmLatency: new SlidingCounts({ size: BUCKETS, ...WINDOW }),
    };
    this.#loads.counts.add(isCold ? COLD : WARM, 1, now);
    if (!isCold && ms !== null) this.#loads.warmLatency.add(bucketOf(ms), 1, now);
  }

  #showLoads(now: number): Pick<LiveRow, 'loads'> {
    const [warm = 0, cold = 0] = this.#loads?.counts.sums(now) ?? [];
    if (this.#loads === null || warm + cold === 0) return {};
    return { loads: { warm, cold, warmLatency: sparseOf(this.#loads.warmLatency.sums(now)) } };
  }

  /** null: nothing runs, and nothing ended in the last minute. */
  show(): LiveRow | null {
    const now = this.#clock.now();
    const [requests = 0, errors = 0, tokens = 0] = this.#counts.sums(now);
    if (this.running === 0 && requests === 0) return null;
    const { id, model, backend } = this.#deployment;
    return {
      route: this.#route,
      model,
      deployment: id,
      backend: backend.name,
      running: this.running,
      requests,
      errors,
      tokens,
      latency: sparseOf(this.#latency.sums(now)),
      firstToken: sparseOf(this.#firstToken.sums(now)),
      ...this.#showLoads(now),
    };
  }
}
