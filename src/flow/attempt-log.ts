import type { RequestContext } from '../core/context.ts';
import type { LedgerEvent } from '../core/ledger-event.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { LiveFigures, LiveTry } from '../core/ports/live.ts';
import type { TryOutcome, TryWatch, TryWork, WatchedTry } from '../core/ports/try-watch.ts';
import type { Attempt } from '../core/station.ts';
import type { AttemptRecord } from '../core/trail.ts';
import { streamsUpstream } from '../core/upstream-request.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import { workOf } from '../stations/route/targets.ts';
import { warmthOf } from '../stations/route/warmth.ts';
import { ledgerEvent } from '../stations/wrap/ledger-events.ts';
import type { ClosingHow } from './closing-how.ts';
import type { GrowingContext } from './walk.ts';

export interface AttemptLogOptions {
  readonly ctx: GrowingContext;
  readonly clock: Clock;
  /** Counts what runs now. */
  readonly figures: LiveFigures;
  /** Decides on the next tries. */
  readonly watch: TryWatch;
}

interface Entry {
  readonly attempt: Attempt;
  /** Whoever counts what runs now; null once it was told of the end. */
  live: LiveTry | null;
  /** Whoever decides on the next tries; likewise. */
  watched: WatchedTry | null;
  readonly startedMs: number;
  status: number | null;
  retryAfterMs: number | null;
  firstByteMs: number | null;
  failure: string | null;
  usage: Usage;
}

/** The tries of one request, in order. A new one means that Envoy gave the last one up. */
export class AttemptLog {
  readonly #ctx: GrowingContext;
  readonly #clock: Clock;
  readonly #live: LiveFigures;
  readonly #watch: TryWatch;
  readonly #entries: Entry[] = [];
  #firstTokenMs: number | null = null;
  /** The client's answer has begun. */
  begun = false;

  constructor({ ctx, clock, figures, watch }: AttemptLogOptions) {
    this.#ctx = ctx;
    this.#clock = clock;
    this.#live = figures;
    this.#watch = watch;
  }

  /** Tries that Envoy has made, as far as it told. */
  get count(): number {
    return this.last;
  }

  /** Number of the latest try; 0 before the first. */
  get last(): number {
    return this.#entries.at(-1)?.attempt.number ?? 0;
  }

  get current(): Attempt | null {
    return this.#entries.at(-1)?.attempt ?? null;
  }

  get status(): number | null {
    return this.#entries.at(-1)?.status ?? null;
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  start(attempt: Attempt): void {
    this.#leave({ served: false, failed: true }, NO_USAGE);
    this.#entries.push({
      attempt,
      live: this.#live.begin(this.#ctx.decision?.route.id ?? '', attempt.candidate.deployment),
      watched: this.#watch.begin(attempt.candidate.deployment, this.#work(attempt)),
      startedMs: this.#elapsed(),
      status: null,
      retryAfterMs: null,
      firstByteMs: null,
      failure: null,
      usage: NO_USAGE,
    });
  }

  /** The head of the latest try's answer. */
  answered(status: number, retryAfterMs: number | null = null): void {
    const entry = this.#entries.at(-1);
    if (entry === undefined) return;
    entry.status = status;
    entry.retryAfterMs = retryAfterMs;
    entry.firstByteMs ??= this.#elapsed();
  }

  /** Why the latest try is no good, and what it used all the same: that is the gateway's cost if another one serves. */
  failed(reason: string, usage: Usage | null): void {
    const entry = this.#entries.at(-1);
    if (entry === undefined) return;
    entry.failure = reason;
    if (usage !== null) entry.usage = usage;
  }

  firstToken(): void {
    if (this.#firstTokenMs !== null) return;
    this.#firstTokenMs = this.#elapsed();
    this.#entries.at(-1)?.watched?.firstToken();
  }

  /** Cost events of the tries that did not serve. */
  thrownAway(): readonly LedgerEvent[] {
    return this.#entries.slice(0, -1).map((entry, index) =>
      ledgerEvent(
        this.#ctx as RequestContext,
        {
          number: entry.attempt.number,
          deployment: entry.attempt.candidate.deployment,
          usage: entry.usage,
          usageFlag: entry.failure,
          firstTokenMs: null,
          totalMs: (this.#entries[index + 1]?.startedMs ?? this.#elapsed()) - entry.startedMs,
        },
        'error',
        'gateway',
      ),
    );
  }

  close(how: ClosingHow): readonly AttemptRecord[] {
    const last = this.#entries.length - 1;
    return this.#entries.map((entry, index) => ({
      attempt: entry.attempt.number,
      backend: entry.attempt.candidate.deployment.backend.name,
      model: entry.attempt.candidate.deployment.model,
      outcome: index < last ? this.#givenUp(index) : outcomeOf(how),
      status: entry.status,
      startedMs: entry.startedMs,
      firstByteMs: entry.firstByteMs,
      reason: entry.failure ?? (index < last ? failureOf(entry) : ''),
    }));
  }

  /** The request is over: its last try runs no more. `usage`: of what was served. Again: nothing. */
  leave(how: ClosingHow, usage: Usage): void {
    // One that kept on speaking until the time was up is not to blame for a long answer.
    const spoke = how.kind === 'cut' && how.by === 'deadline' && this.#firstTokenMs !== null;
    const isHasty = isTimeUp(how) && this.#isOwnTime();
    this.#leave({ served: how.kind === 'complete', failed: isBlamed(how) && !spoke && !isHasty }, usage);
  }

  /** Did the client allow less time than the operator does, and is that time up? A backend is not to blame for haste. */
  #isOwnTime(): boolean {
    const { config, decision, deadline, startedAt } = this.#ctx;
    const allowed = Math.min(config.timeouts.requestMs, decision?.route.timeoutMs ?? Infinity);
    return deadline - startedAt < allowed && this.#clock.now() >= deadline - 1;
  }

  #leave(outcome: { readonly served: boolean; readonly failed: boolean }, usage: Usage): void {
    const entry = this.#entries.at(-1);
    if (entry === undefined || entry.live === null) return;
    const { live, watched, startedMs } = entry;
    entry.live = null;
    entry.watched = null;
    const { request } = this.#ctx;
    const first =
      request !== undefined && streamsUpstream({ request, surge: this.#ctx.surge }) ? this.#firstTokenMs : null;
    const firstTokenMs = first === null ? null : first - startedMs;
    live.end({ ...outcome, ms: this.#elapsed() - startedMs, firstTokenMs, tokens: usage.prompt + usage.completion });
    watched?.end(tryOutcome(outcome, entry, usage));
  }

  #work({ candidate }: Attempt): TryWork {
    const ctx = this.#ctx as RequestContext;
    const { profile } = candidate.deployment;
    return {
      ...workOf(ctx),
      warm: warmthOf(ctx).warm(candidate.deployment.model),
      request: ctx.id,
      outputTokens: ctx.request.maxOutputTokens ?? profile.defaultMaxTokens,
      deadline: ctx.deadline,
    };
  }

  #givenUp(index: number): AttemptRecord['outcome'] {
    const backend = (at: number) => this.#entries[at]?.attempt.candidate.deployment.backend.name;
    return backend(index) === backend(index + 1) ? 'tried_again' : 'failed_over';
  }

  #elapsed(): number {
    return Math.round((this.#clock.now() - this.#ctx.startedAt) * 1000) / 1000;
  }
}

function failureOf(entry: Entry): string {
  return entry.status === null ? 'given up by the proxy before we saw an answer' : `status ${entry.status}`;
}

function tryOutcome(
  { served, failed }: { readonly served: boolean; readonly failed: boolean },
  { status, retryAfterMs }: Entry,
  usage: Usage,
): TryOutcome {
  if (served) return { kind: 'served', completionTokens: usage.completion };
  return failed ? { kind: 'failed', status, retryAfterMs } : { kind: 'left' };
}

/** Did it end because there was no time left? */
function isTimeUp(how: ClosingHow): boolean {
  return (
    (how.kind === 'cut' && how.by === 'deadline') || (how.kind === 'failed' && how.error.code === 'upstream_timeout')
  );
}

/** Is the deployment to blame? Not for what it refused with reason, nor for clients that leave. */
function isBlamed(how: ClosingHow): boolean {
  if (how.kind === 'cut') return how.by === 'upstream' || how.by === 'deadline';
  return how.kind === 'failed' && how.error.source === 'model_service' && how.error.code !== 'upstream_rejected';
}

function outcomeOf(how: ClosingHow): AttemptRecord['outcome'] {
  switch (how.kind) {
    case 'complete':
      return 'served';
    case 'failed':
      return 'failed';
    case 'cut':
      return 'cut';
    case 'answered':
      return 'unknown';
  }
}
