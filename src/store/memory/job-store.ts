import { type Job, type JobBounds, type JobState, SETTLED_MS } from '../../core/job.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { JobCounts, JobStore, OwedReservation } from '../../core/ports/job-store.ts';

interface Kept {
  job: Job;
  holder: string | null;
  /** Waiting: from when on it may be begun. Running: until when it is held. Over: until when it is kept. */
  until: number;
  isUnwanted: boolean;
}

const bytesOf = ({ job }: Kept): number => Buffer.byteLength(job.request);
const isUnder = ({ job }: Kept): boolean => job.state === 'queued' || job.state === 'running';

/** `JobStore` in this process: gone with it. */
export class MemoryJobStore implements JobStore {
  readonly #jobs = new Map<string, Kept>();
  /** By operation. */
  readonly #owed = new Map<string, { readonly owed: OwedReservation; at: number }>();
  readonly #clock: Pick<Clock, 'time'>;

  constructor({ clock }: { readonly clock: Pick<Clock, 'time'> }) {
    this.#clock = clock;
  }

  async add(job: Parameters<JobStore['add']>[0], bounds: JobBounds): Promise<boolean> {
    this.#sweep();
    const under = this.#under();
    const bytes = under.reduce((sum, kept) => sum + bytesOf(kept), Buffer.byteLength(job.request));
    const own = under.filter(({ job: { tenant } }) => tenant === job.tenant).length;
    if (under.length >= bounds.count || own >= bounds.perTenant || bytes > bounds.bytes) return false;
    const kept: Job = { ...job, state: 'queued', attempts: 0, answer: null };
    this.#jobs.set(job.id, { job: kept, holder: null, until: this.#clock.time(), isUnwanted: false });
    return true;
  }

  async claim(holder: string, leaseMs: number, keepMs: number): Promise<Job | null> {
    const now = this.#clock.time();
    for (const kept of this.#jobs.values()) {
      if (kept.job.state === 'running' && kept.until <= now && !this.#letGo(kept, keepMs)) return kept.job;
      if (kept.job.state !== 'queued' || kept.job.expiresAt > now) continue;
      this.#end(kept, 'expired', null, keepMs);
      return kept.job;
    }
    const due = [...this.#jobs.values()].filter(({ job, until }) => job.state === 'queued' && until <= now);
    const [next] = due.toSorted((a, b) => a.job.createdAt - b.job.createdAt);
    if (next === undefined) return null;
    next.job = { ...next.job, state: 'running' };
    next.holder = holder;
    next.until = now + leaseMs;
    return next.job;
  }

  async renew(id: string, holder: string, leaseMs: number): Promise<'held' | 'lost' | 'cancelled'> {
    const kept = this.#held(id, holder);
    if (kept === null) return 'lost';
    if (kept.isUnwanted) return 'cancelled';
    kept.until = this.#clock.time() + leaseMs;
    return 'held';
  }

  async putBack(
    id: string,
    holder: string,
    { waitMs, counts, keepMs, operation }: Parameters<JobStore['putBack']>[2],
  ): Promise<'queued' | 'cancelled' | 'lost'> {
    const kept = this.#held(id, holder);
    if (kept === null) return 'lost';
    if (kept.isUnwanted) {
      this.#end(kept, 'cancelled', null, keepMs, SETTLED_MS);
      return 'cancelled';
    }
    if (operation !== undefined) this.#owe(kept.job, SETTLED_MS);
    const attempts = kept.job.attempts + (counts ? 1 : 0);
    kept.job = { ...kept.job, state: 'queued', attempts, operation: operation ?? kept.job.operation };
    kept.holder = null;
    kept.until = this.#clock.time() + waitMs;
    return 'queued';
  }

  async finish(
    id: string,
    holder: string,
    { state, answer, keepMs }: Parameters<JobStore['finish']>[2],
  ): Promise<boolean> {
    const kept = this.#held(id, holder);
    if (kept !== null) this.#end(kept, state, answer, keepMs);
    return kept !== null;
  }

  async cancel(id: string, tenant: string, keepMs: number): Promise<'cancelled' | 'running' | null> {
    const kept = this.#jobs.get(id);
    if (kept === undefined || kept.job.tenant !== tenant || !isUnder(kept)) return null;
    if (kept.job.state === 'running') {
      kept.isUnwanted = true;
      return 'running';
    }
    this.#end(kept, 'cancelled', null, keepMs);
    return 'cancelled';
  }

  async get(id: string): Promise<Job | null> {
    this.#sweep();
    return this.#jobs.get(id)?.job ?? null;
  }

  async drop(id: string): Promise<void> {
    const kept = this.#jobs.get(id);
    if (kept !== undefined && !isUnder(kept)) this.#jobs.delete(id);
  }

  async owed(forMs: number): Promise<readonly OwedReservation[]> {
    const now = this.#clock.time();
    const due = [...this.#owed.values()].filter(({ at }) => at <= now);
    for (const each of due) each.at = now + forMs;
    return due.map(({ owed }) => owed);
  }

  async paid({ operation }: OwedReservation): Promise<void> {
    this.#owed.delete(operation);
  }

  async counts(): Promise<JobCounts> {
    this.#sweep();
    const under = this.#under();
    const of = (state: JobState): readonly Kept[] => [...this.#jobs.values()].filter(({ job }) => job.state === state);
    const queued = of('queued');
    const oldest = Math.min(...queued.map(({ job }) => job.createdAt));
    return {
      queued: queued.length,
      running: of('running').length,
      failed: of('failed').length,
      bytes: under.reduce((sum, kept) => sum + bytesOf(kept), 0),
      oldestMs: queued.length === 0 ? null : Math.max(0, this.#clock.time() - oldest),
    };
  }

  /** Its holder is gone: it waits again. False: nobody wants it, and it is over. */
  #letGo(kept: Kept, keepMs: number): boolean {
    kept.job = { ...kept.job, state: 'queued', attempts: kept.job.attempts + 1 };
    if (kept.isUnwanted) this.#end(kept, 'cancelled', null, keepMs);
    return !kept.isUnwanted;
  }

  #owe({ tenant, operation }: Job, afterMs: number): void {
    this.#owed.set(operation, { owed: { tenant, operation }, at: this.#clock.time() + afterMs });
  }

  #end(kept: Kept, state: JobState, answer: string | null, keepMs: number, owedMs = 0): void {
    if (state !== 'completed') this.#owe(kept.job, owedMs);
    const until = this.#clock.time() + keepMs;
    kept.job = { ...kept.job, state, answer, request: '', expiresAt: until };
    kept.holder = null;
    kept.until = until;
  }

  #held(id: string, holder: string): Kept | null {
    const kept = this.#jobs.get(id);
    return kept !== undefined && kept.job.state === 'running' && kept.holder === holder ? kept : null;
  }

  #under(): readonly Kept[] {
    return [...this.#jobs.values()].filter(isUnder);
  }

  #sweep(): void {
    for (const [id, kept] of this.#jobs) if (!isUnder(kept) && kept.until <= this.#clock.time()) this.#jobs.delete(id);
  }
}
