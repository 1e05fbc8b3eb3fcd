import { setTimeout as sleep } from 'node:timers/promises';
import { ClientConnection, type Exchange } from './client-connection.ts';
import type { LoadJob, LoadResult, Percentiles } from './load-job.ts';

/** A timer this late is the timer's own rounding; later than that the generator was kept from sending. */
const TIMER_SLACK_MS = 2;

/** How long answers that are due may still take when the time is over. */
const REST_MS = 5000;

/** Sends `requests` in turn for `durationMs` and waits for the answers that are due. */
export async function runLoad(job: LoadJob, requests: readonly Buffer[]): Promise<LoadResult> {
  const run = new Run(job, requests);
  if (job.rate === null) await run.closed();
  else await run.open(job.rate);
  return run.result();
}

class Run {
  readonly #job: LoadJob;
  readonly #requests: readonly Buffer[];
  readonly #connections: ClientConnection[] = [];
  readonly #latencies: number[] = [];
  readonly #firstBytes: number[] = [];
  readonly #gaps: number[] = [];
  readonly #began = performance.now();
  #turn = 0;
  #failed = 0;
  #firstFailure: string | null = null;
  #endedAt = 0;

  constructor(job: LoadJob, requests: readonly Buffer[]) {
    this.#job = job;
    this.#requests = requests;
  }

  /** Each connection sends its next request when it has the answer to the last. */
  async closed(): Promise<void> {
    const until = this.#began + this.#job.durationMs;
    await Promise.all(
      Array.from({ length: this.#job.connections }, async () => {
        const connection = this.#connect();
        while (performance.now() < until) {
          const startedAt = performance.now();
          await new Promise<void>((resolve) => {
            connection.send(this.#next(), (exchange) => {
              this.#note(startedAt, exchange);
              resolve();
            });
          });
        }
      }),
    );
    this.#close();
  }

  /** Requests go out at a fixed rate whatever becomes of those before; time counts from when a request was due. */
  async open(rate: number): Promise<void> {
    const idle: ClientConnection[] = [];
    const waiting: number[] = [];
    const total = Math.floor((this.#job.durationMs / 1000) * rate);
    let due = 0;
    const send = (startedAt: number): void => {
      const connection = idle.pop() ?? (this.#connections.length < this.#job.connections ? this.#connect() : null);
      if (connection === null) {
        waiting.push(startedAt);
        return;
      }
      connection.send(this.#next(), (exchange) => {
        this.#note(startedAt, exchange);
        idle.push(connection);
        const next = waiting.shift();
        if (next !== undefined) send(next);
      });
    };
    while (due < total) {
      const scheduled = this.#began + (due * 1000) / rate;
      const now = performance.now();
      if (now < scheduled) {
        await sleep(Math.max(1, Math.floor(scheduled - now)));
        continue;
      }
      due += 1;
      send(now - scheduled <= TIMER_SLACK_MS ? now : scheduled);
    }
    const patience = performance.now() + REST_MS;
    while (this.#latencies.length + this.#failed < total && performance.now() < patience) await sleep(5);
    this.#failed = total - this.#latencies.length;
    this.#close();
  }

  result(): LoadResult {
    const { paceMs } = this.#job;
    return {
      requests: this.#latencies.length,
      failed: this.#failed,
      firstFailure: this.#firstFailure,
      seconds: (this.#endedAt - this.#began) / 1000,
      latencyMs: percentiles(this.#latencies),
      firstByteMs: percentiles(this.#firstBytes),
      gapMs: percentiles(this.#gaps),
      jitterMs: percentiles(paceMs === null ? [] : this.#gaps.map((gap) => Math.abs(gap - paceMs))),
    };
  }

  #next(): Buffer {
    const request = this.#requests[this.#turn % this.#requests.length];
    this.#turn += 1;
    if (request === undefined) throw new Error('no request to send');
    return request;
  }

  #connect(): ClientConnection {
    const connection = new ClientConnection(this.#job.port, this.#gaps);
    this.#connections.push(connection);
    return connection;
  }

  #note(startedAt: number, { ok, failure, endedAt, firstByteAt }: Exchange): void {
    if (!ok) {
      this.#failed += 1;
      this.#firstFailure ??= failure;
      return;
    }
    this.#latencies.push(endedAt - startedAt);
    this.#firstBytes.push(firstByteAt - startedAt);
  }

  #close(): void {
    this.#endedAt = performance.now();
    for (const connection of this.#connections) connection.close();
  }
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).toSorted();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
