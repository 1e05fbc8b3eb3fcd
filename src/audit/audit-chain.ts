import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry, AuditLog } from '../core/ports/audit.ts';
import type { Json } from '../core/json.ts';
import type { AuditChainOptions } from './audit-chain-options.ts';
import { chainOn } from './chain-state.ts';
import type { Batch, ChainState } from './chain-state.ts';
import { EntryQueue } from './entry-queue.ts';
import { writeFacts } from './facts.ts';
import { liveFile, segmentFile } from './names.ts';
import { openChain } from './open-chain.ts';
import { SegmentLost, SegmentWriter } from './segment-writer.ts';
import { writeIndex } from './summary.ts';
import type { SegmentSummary } from './summary.ts';
import { Upkeep } from './upkeep.ts';
import { toError } from '../lib/error/to-error.ts';

const QUEUE_BYTES = 8 * 1024 * 1024;
const BATCH_BYTES = 1024 * 1024;
const GATHER_MS = 5;
const STALL_MS = 5000;
const RETRY_MS = { first: 50, most: 1000 };
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
  readonly #upkeep: Upkeep;
  #state: ChainState | null = null;
  #segment: { readonly n: number; readonly writer: SegmentWriter; readonly since: number } | null = null;
  #summary: SegmentSummary | null = null;
  #batch: Batch | null = null;
  #pump: Promise<void> | null = null;
  #tryingSince: number | null = null;
  #failing = false;
  #urgent = false;
  #closing = false;
  #ended = false;
  #finishRecovery: (() => Promise<void>) | null = null;
  #waiters: (() => void)[] = [];

  constructor(options: AuditChainOptions) {
    this.#options = options;
    this.#queue = new EntryQueue(options.queueBytes ?? QUEUE_BYTES);
    this.#upkeep = new Upkeep(options, () =>
      this.#state === null ? null : { state: this.#state, open: this.#segment?.n ?? 1 },
    );
  }

  start(): this {
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

  async kept(deadlineMs: number): Promise<boolean> {
    const place = this.#queue.last;
    await this.#waitUntil(() => this.#queue.doneUpTo >= place || this.state() === 'failing', deadlineMs);
    return this.#queue.doneUpTo >= place;
  }

  async flush(deadlineMs: number): Promise<number> {
    this.#urgent = true;
    this.#kick();
    await this.#waitUntil(() => this.#queue.pending === 0, deadlineMs);
    return this.#queue.pending;
  }

  async #waitUntil(isDone: () => boolean, deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs;
    while (!isDone() && this.#pump !== null) {
      const left = until - performance.now();
      if (left <= 0) break;
      const settled = new Promise<void>((resolve) => this.#waiters.push(resolve));
      const timer = new AbortController();
      await Promise.race([settled, sleep(left, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#push('system', { event: 'close' });
    this.#closing = true;
    this.#upkeep.stop();
    const left = await this.flush(CLOSE_MS);
    this.#ended = true;
    const { log } = this.#options;
    if (left > 0) log.error('audit entries could not be kept', { entries: left });
    // A disk that hangs must not hold up the end of the process.
    await Promise.race([this.#finish(left), sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  async #finish(left: number): Promise<void> {
    await this.#pump;
    await this.#finishSegment();
    await this.#upkeep.swear();
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
      } catch (error) {
        this.#failed(error);
        if (this.#ended) break;
        await sleep(pause, undefined, { ref: false });
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
    this.#recovered();
    this.#wake();
    await this.#mend();
    if (this.#upkeep.due(batch.state.seq)) void this.#upkeep.swear();
    if (writer.offset >= this.#options.segmentBytes) await this.#rotate();
  }

  async #open(): Promise<ChainState> {
    const { state, entry, finish } = await openChain(this.#options);
    this.#finishRecovery = finish;
    this.#upkeep.begin(state.head);
    this.#queue.putFirst(entry);
    this.#segment = this.#newSegment(state.chain, 1);
    return state;
  }

  async #mend(): Promise<void> {
    const finish = this.#finishRecovery;
    if (finish === null) return;
    this.#finishRecovery = null;
    await finish();
    void this.#upkeep.retire();
  }

  #newSegment(chain: string, n: number) {
    return {
      n,
      writer: new SegmentWriter(join(this.#options.dir, segmentFile(chain, n)), this.#options.open),
      since: this.#options.clock.time(),
    };
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
    void this.#upkeep.retire();
    return next;
  }

  async #finishSegment(): Promise<void> {
    const segment = this.#segment;
    if (segment === null) return;
    await segment.writer.close();
    if (this.#summary === null || this.#state === null) return;
    await writeIndex(this.#options.dir, this.#state.chain, segment.n, this.#summary).catch((error: unknown) => {
      this.#options.log.warn('an audit index could not be written', { error: toError(error) });
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
    this.#wake();
    this.#options.metrics.anomaly('audit_write_failed');
    this.#options.log.error('audit records cannot be written', { error: toError(error) });
  }

  #recovered(): void {
    this.#tryingSince = null;
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info('audit records are written again');
  }
}
