import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry, AuditLog } from '../core/ports/audit.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Json } from '../core/json.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { chainOn } from './chain-state.ts';
import type { Batch, ChainState } from './chain-state.ts';
import type { Checkpointer } from './checkpointer.ts';
import { EntryQueue } from './entry-queue.ts';
import { writeFacts } from './facts.ts';
import { chainName, listChains, liveFile, segmentFile } from './names.ts';
import { processIdentity } from './process-identity.ts';
import { NO_HASH } from './record.ts';
import { recover } from './recover.ts';
import type { Recovered } from './recover.ts';
import { retire } from './retire.ts';
import { SegmentLost, SegmentWriter } from './segment-writer.ts';
import type { OpenSegment } from './segment-writer.ts';
import { writeIndex } from './summary.ts';
import type { SegmentSummary } from './summary.ts';

export interface AuditChainOptions {
  readonly dir: string;
  readonly node: string;
  readonly worker: number;
  readonly workers: number;
  readonly segmentBytes: number;
  readonly rotateMs: number;
  readonly keepMs: number;
  readonly checkpoint: { readonly everyMs: number; readonly records: number };
  readonly checkpointer: Checkpointer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  /** How long the first entry of a batch waits for others. */
  readonly gatherMs?: number;
  /** Bound of the queue. */
  readonly queueBytes?: number;
  /** A write that takes longer counts as failing. */
  readonly stallMs?: number;
  readonly open?: OpenSegment;
}

const QUEUE_BYTES = 8 * 1024 * 1024;
const BATCH_BYTES = 1024 * 1024;
const GATHER_MS = 3;
const STALL_MS = 5000;
const RETRY_MS = { first: 50, most: 1000 };
const RETIRE_EVERY_MS = 3_600_000;
const CLOSE_MS = 5000;

/**
 * The writer of one process's chain. It opens itself in the background and goes on trying while the disk refuses: no entry
 * waits for anything, none is lost but by the bound of the queue, and then a record says how many.
 */
export function createAuditChain(options: AuditChainOptions): AuditLog {
  return new AuditChain(options).start();
}

class AuditChain implements AuditLog {
  readonly #options: AuditChainOptions;
  readonly #queue: EntryQueue;
  #state: ChainState | null = null;
  #start = { from: 1, base: NO_HASH };
  #segment: { readonly n: number; readonly writer: SegmentWriter; readonly since: number } | null = null;
  #summary: SegmentSummary | null = null;
  #batch: Batch | null = null;
  #pump: Promise<void> | null = null;
  #tryingSince: number | null = null;
  #failing = false;
  #urgent = false;
  #closing = false;
  #ended = false;
  #sworn = 0;
  #finishRecovery: (() => Promise<void>) | null = null;
  #swearing: Promise<void> = Promise.resolve();
  #waiters: (() => void)[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: AuditChainOptions) {
    this.#options = options;
    this.#queue = new EntryQueue(options.queueBytes ?? QUEUE_BYTES);
  }

  start(): this {
    const every = (ms: number, run: () => void): void => void this.#timers.push(setInterval(run, ms).unref());
    every(this.#options.checkpoint.everyMs, () => void this.#swear());
    every(RETIRE_EVERY_MS, () => void this.#retire());
    this.#kick();
    return this;
  }

  append({ kind, time, facts }: AuditEntry): void {
    const when = Number.isSafeInteger(Math.round(time)) ? Math.round(time) : this.#options.clock.time();
    if (this.#closing || !this.#queue.push({ kind, time: when, facts: writeFacts(facts) })) {
      this.#options.metrics.anomaly('audit_dropped');
    }
    this.#kick();
  }

  state(): 'ok' | 'failing' {
    const stalled =
      this.#tryingSince !== null && this.#options.clock.now() - this.#tryingSince > (this.#options.stallMs ?? STALL_MS);
    return this.#failing || stalled || this.#queue.dropped > 0 ? 'failing' : 'ok';
  }

  async flush(deadlineMs: number): Promise<number> {
    const until = performance.now() + deadlineMs;
    this.#urgent = true;
    this.#kick();
    while (this.#queue.pending > 0 && this.#pump !== null) {
      const left = until - performance.now();
      if (left <= 0) break;
      const settled = new Promise<void>((resolve) => this.#waiters.push(resolve));
      const timer = new AbortController();
      await Promise.race([settled, sleep(left, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
    return this.#queue.pending;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#push('system', { event: 'close' });
    this.#closing = true;
    for (const timer of this.#timers) clearInterval(timer);
    const left = await this.flush(CLOSE_MS);
    this.#ended = true;
    const { log } = this.#options;
    if (left > 0) log.error('audit entries could not be kept', { entries: left });
    // A disk that hangs must not hold up the end of the process.
    await Promise.race([this.#finish(left), sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  async #finish(left: number): Promise<void> {
    await this.#finishSegment();
    await this.#swear();
    if (left > 0 || this.#state === null) return;
    await rm(join(this.#options.dir, liveFile(this.#state.chain)), { force: true }).catch(() => {});
  }

  #push(kind: AuditEntry['kind'], facts: { readonly [key: string]: Json }): void {
    this.#queue.push({ kind, time: this.#options.clock.time(), facts: writeFacts(facts) });
  }

  #kick(): void {
    this.#pump ??= this.#run().finally(() => {
      this.#pump = null;
      this.#wake();
      if (!this.#ended && this.#queue.pending > 0) this.#kick();
    });
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  async #run(): Promise<void> {
    let pause = RETRY_MS.first;
    while (!this.#ended && (this.#state === null || this.#batch !== null || this.#queue.pending > 0)) {
      if (this.#batch === null && !this.#urgent && this.#queue.bytes < BATCH_BYTES) {
        await sleep(this.#options.gatherMs ?? GATHER_MS);
      }
      this.#tryingSince ??= this.#options.clock.now();
      try {
        await this.#step();
        this.#tryingSince = null;
        pause = RETRY_MS.first;
        this.#recovered();
      } catch (error) {
        this.#failed(error);
        if (this.#ended) break;
        await sleep(pause);
        pause = Math.min(pause * 2, RETRY_MS.most);
      }
    }
    this.#tryingSince = null;
    this.#urgent = false;
  }

  async #step(): Promise<void> {
    this.#state ??= await this.#open();
    const { writer } = await this.#currentSegment();
    this.#batch ??= chainOn(this.#state, this.#summary, writer.offset, this.#queue.take(BATCH_BYTES));
    const batch = this.#batch;
    if (batch === null) return;
    try {
      await writer.append(batch.bytes);
    } catch (error) {
      if (error instanceof SegmentLost) this.#lose(batch, error);
      throw error;
    }
    this.#batch = null;
    this.#state = batch.state;
    this.#summary = batch.summary;
    this.#queue.done(batch.entries);
    this.#wake();
    await this.#mend();
    if (this.#sworn === 0 || batch.state.seq - this.#sworn >= this.#options.checkpoint.records) void this.#swear();
    if (writer.offset >= this.#options.segmentBytes) await this.#rotate();
  }

  /** Mends what was before, then begins a chain with a record of it. */
  async #open(): Promise<ChainState> {
    const { dir, node, worker, workers, checkpointer, clock, log, metrics } = this.#options;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    let problem: string | null = null;
    const found = await recover({ dir, node, worker, workers, checkpointer }).catch((error: unknown): Recovered => {
      problem = error instanceof Error ? error.message : String(error);
      log.error('earlier audit chains could not be read', { problem });
      return { after: null, recovered: [], finish: async () => {} };
    });
    this.#finishRecovery = found.finish;
    const taken = await listChains(dir);
    let time = clock.time();
    while (taken.has(chainName(node, worker, time))) time += 1;
    const chain = chainName(node, worker, time);
    await writeFile(join(dir, liveFile(chain)), `${processIdentity(process.pid) ?? ''}\n`, { mode: 0o600 });
    const { after, recovered } = found;
    if (recovered.length > 0) metrics.anomaly('audit_recovered');
    const head = after?.hash ?? NO_HASH;
    this.#start = { from: 1, base: head };
    const event = recovered.length > 0 || problem !== null ? 'recovery' : 'start';
    const facts = writeFacts({ event, after: after === null ? null : { ...after }, recovered, problem, pid: process.pid });
    this.#queue.putFirst({ kind: 'system', time, facts });
    this.#segment = this.#newSegment(chain, 1);
    return { chain, seq: 0, head };
  }

  async #mend(): Promise<void> {
    const finish = this.#finishRecovery;
    this.#finishRecovery = null;
    await finish?.().catch((error: unknown) => {
      this.#options.log.error('an earlier audit chain could not be mended', { error: asError(error) });
    });
  }

  #newSegment(chain: string, n: number) {
    return { n, writer: new SegmentWriter(join(this.#options.dir, segmentFile(chain, n)), this.#options.open), since: this.#options.clock.time() };
  }

  async #currentSegment() {
    const { clock, rotateMs } = this.#options;
    const current = this.#segment;
    if (current === null) throw new Error('an audit chain without a segment');
    const old = this.#batch === null && this.#summary !== null && clock.time() - current.since >= rotateMs;
    return old ? this.#rotate() : current;
  }

  async #rotate() {
    await this.#finishSegment();
    const next = this.#newSegment(this.#state?.chain ?? '', (this.#segment?.n ?? 0) + 1);
    this.#segment = next;
    this.#summary = null;
    void this.#retire();
    return next;
  }

  async #finishSegment(): Promise<void> {
    const segment = this.#segment;
    if (segment === null) return;
    await segment.writer.close();
    if (this.#summary === null || this.#state === null) return;
    await writeIndex(this.#options.dir, this.#state.chain, segment.n, this.#summary).catch((error: unknown) => {
      this.#options.log.warn('an audit index could not be written', { error: asError(error) });
    });
  }

  /** What the lost file held is for the verifier to miss; the batch goes into a new one. */
  #lose(batch: Batch, error: Error): void {
    const state = this.#state;
    if (state === null || this.#segment === null) return;
    this.#options.metrics.anomaly('audit_segment_lost');
    this.#options.log.error(error.message, { chain: state.chain, segment: this.#segment.n });
    this.#push('system', { event: 'segment_lost', segment: this.#segment.n });
    this.#segment = this.#newSegment(state.chain, this.#segment.n + 1);
    this.#summary = null;
    this.#batch = chainOn(state, null, 0, batch.entries);
  }

  #failed(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#options.metrics.anomaly('audit_write_failed');
    this.#options.log.error('audit records cannot be written', { error: asError(error) });
  }

  #recovered(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info('audit records are written again');
  }

  /** One at a time; what is new meanwhile is sworn next time. */
  #swear(): Promise<void> {
    this.#swearing = this.#swearing.then(async () => {
      const state = this.#state;
      if (state === null || state.seq === 0 || state.seq === this.#sworn) return;
      // Before it is stored: a store that is away must not be asked anew with each batch.
      this.#sworn = state.seq;
      const kept = await this.#options.checkpointer.issue({ ...this.#start, chain: state.chain, seq: state.seq, head: state.head });
      if (kept < this.#options.checkpointer.stores && this.#sworn === state.seq) this.#sworn = state.seq - 1;
    });
    return this.#swearing;
  }

  #retire(): Promise<void> {
    this.#swearing = this.#swearing.then(async () => {
      const state = this.#state;
      const open = this.#segment?.n ?? 1;
      if (state === null || this.#closing) return;
      await retire(this.#options, { ...state, open, startAt: (start) => (this.#start = start) }).catch((error: unknown) => {
        this.#options.log.error('old audit segments could not be removed', { error: asError(error) });
      });
    });
    return this.#swearing;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
