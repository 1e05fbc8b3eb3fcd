import type { RequestContext } from '../core/context.ts';
import type { Place } from '../core/decision.ts';
import { addressOf } from '../core/endpoint.ts';
import type { LedgerEvent } from '../core/ledger-event.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { LiveFigures, LiveTry } from '../core/ports/live.ts';
import type { TryOutcome, TryWatch, TryWork, WatchedTry } from '../core/ports/try-watch.ts';
import type { Deployment } from '../core/snapshot.ts';
import type { Attempt } from '../core/station.ts';
import type { AttemptRecord } from '../core/trail.ts';
import { streamsUpstream } from '../core/upstream-request.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import { nameOf } from '../core/places.ts';
import { workOf } from '../stations/route/targets.ts';
import { warmthOf } from '../stations/route/warmth.ts';
import { ledgerEvent } from '../stations/wrap/ledger-events.ts';
import type { ClosingHow } from './closing-how.ts';
import { wasTaken } from './taken.ts';
import type { GrowingContext } from './walk.ts';

export interface AttemptLogOptions {
  readonly ctx: GrowingContext;
  readonly clock: Clock;
  /** Counts what runs now. */
  readonly figures: LiveFigures;
  /** Decides on the next tries. */
  readonly watch: TryWatch;
}

/** On what terms a try begins. */
export interface TryTerms {
  /** When it is taken and not answered, somebody else is asked. */
  readonly mayReplay: boolean;
  /** Its connection stood already. */
  readonly isConnected: boolean;
  /** Envoy opens no stream for it. */
  readonly isDirect?: boolean;
}

interface Entry extends TryTerms {
  readonly attempt: Attempt;
  /** No stream of Envoy's told of it. */
  isUnseen: boolean;
  /** Whoever counts what runs now; null once it was told of the end. */
  live: LiveTry | null;
  /** Whoever decides on the next tries; likewise. */
  watched: WatchedTry | null;
  readonly startedMs: number;
  /** When Envoy let go of it: the pause before the next try is no part of it. */
  endedMs: number | null;
  status: number | null;
  retryAfterMs: number | null;
  firstByteMs: number | null;
  failure: string | null;
  /** Whether a backend had it, where the proxy told. */
  isTaken: boolean | null;
  usage: Usage;
}

/** Flag of usage that nobody told: the backend took the request and never answered. */
const UNANSWERED = 'unanswered';
const UNANSWERED_REASON = 'took the request and never answered';

/** The tries of one request, in order. A new one means that Envoy gave the last one up. */
export class AttemptLog {
  readonly #ctx: GrowingContext;
  readonly #clock: Clock;
  readonly #live: LiveFigures;
  readonly #watch: TryWatch;
  readonly #entries: Entry[] = [];
  #firstTokenMs: number | null = null;
  #isLost = false;
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

  /** A try begins. */
  start(attempt: Attempt, { mayReplay = false, isConnected = false, isDirect = false }: Partial<TryTerms> = {}): void {
    this.#leave({ served: false, failed: true }, NO_USAGE);
    this.#entries.push({
      attempt,
      isUnseen: isDirect,
      live: this.#live.begin(this.#ctx.decision?.route.id ?? '', shownOf(attempt.candidate)),
      watched: this.#watch.begin(attempt.candidate, this.#work(attempt)),
      startedMs: this.#elapsed(),
      mayReplay,
      isConnected,
      endedMs: null,
      status: null,
      retryAfterMs: null,
      firstByteMs: null,
      failure: null,
      isTaken: null,
      usage: NO_USAGE,
    });
  }

  /** A stream of the latest try has come. Was the try begun without one? Once. */
  claim(): boolean {
    const entry = this.#entries.at(-1);
    if (entry?.isUnseen !== true) return false;
    entry.isUnseen = false;
    return true;
  }

  /** Envoy found nobody to ask: a first try that was begun without a stream never was. */
  unmade(): void {
    if (this.#entries.length !== 1 || this.#entries[0]?.isUnseen !== true) return;
    this.#leave({ served: false, failed: false }, NO_USAGE);
    this.#entries.length = 0;
  }

  /** Envoy let go of try `number`, whatever became of it. */
  ended(number: number): void {
    const entry = this.#entries.find(({ attempt }) => attempt.number === number);
    if (entry !== undefined) entry.endedMs ??= this.#elapsed();
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

  /** The proxy says in place of the latest try's backend whether that one had the request. */
  told(isTaken: boolean): void {
    const entry = this.#entries.at(-1);
    if (entry !== undefined) entry.isTaken = isTaken;
  }

  /** The request ends in an error, and the latest try has given nothing. True: a backend took it, and may charge for it all the same. */
  lose(): boolean {
    this.#isLost = this.#wasTaken(this.#entries.length - 1);
    return this.#isLost;
  }

  /** Cost events of the tries that did not serve. */
  thrownAway(): readonly LedgerEvent[] {
    const last = this.#entries.length - 1;
    return this.#entries.slice(0, this.#isLost ? undefined : -1).map((entry, index) => {
      const isUnanswered = index === last || this.#isUnanswered(index);
      return ledgerEvent(
        this.#ctx as RequestContext,
        {
          number: entry.attempt.number,
          deployment: entry.attempt.candidate.deployment,
          usage: isUnanswered ? this.#promptAlone() : entry.usage,
          usageFlag: entry.failure ?? (isUnanswered ? UNANSWERED : null),
          firstTokenMs: null,
          totalMs: this.#lasted(index),
        },
        'error',
        'gateway',
      );
    });
  }

  /** Deployments that took the request and never answered, so that it was played again. */
  replayed(): readonly Deployment[] {
    return this.#entries
      .slice(0, -1)
      .filter((_, index) => this.#isUnanswered(index))
      .map(({ attempt }) => attempt.candidate.deployment);
  }

  /** Was it taken and not answered, so that somebody else was asked? */
  #isUnanswered(index: number): boolean {
    return this.#entries[index]?.mayReplay === true && this.#wasTaken(index);
  }

  #wasTaken(index: number): boolean {
    const entry = this.#entries[index];
    if (entry === undefined) return false;
    return wasTaken(entry, { lastedMs: this.#lasted(index), connectMs: this.#ctx.config.timeouts.connectMs });
  }

  /** What a backend that never answered may charge at the least: it may have read the prompt. */
  #promptAlone(): Usage {
    return { ...NO_USAGE, prompt: this.#ctx.request?.promptTokens ?? 0, source: 'estimate' };
  }

  #lasted(index: number): number {
    const end = this.#entries[index]?.endedMs ?? this.#entries[index + 1]?.startedMs ?? this.#elapsed();
    return end - (this.#entries[index]?.startedMs ?? 0);
  }

  close(how: ClosingHow): readonly AttemptRecord[] {
    const last = this.#entries.length - 1;
    return this.#entries.map((entry, index) => ({
      attempt: entry.attempt.number,
      backend: entry.attempt.candidate.deployment.backend.name,
      ...endpointOf(entry.attempt.candidate),
      model: entry.attempt.candidate.deployment.model,
      outcome: index < last ? this.#givenUp(index) : outcomeOf(how),
      status: entry.status,
      startedMs: entry.startedMs,
      firstByteMs: entry.firstByteMs,
      reason: entry.failure ?? (index < last ? this.#failureOf(index) : this.#isLost ? UNANSWERED_REASON : ''),
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
    live.end({
      ...outcome,
      ms: this.#elapsed() - startedMs,
      firstTokenMs,
      tokens: usage.prompt + usage.completion,
      isCold: watched?.isCold ?? null,
    });
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
    const endpoint = (at: number) => this.#entries[at]?.attempt.candidate.endpoint;
    const isSame = backend(index) === backend(index + 1) && endpoint(index) === endpoint(index + 1);
    return isSame ? 'tried_again' : 'failed_over';
  }

  #failureOf(index: number): string {
    if (this.#isUnanswered(index)) return UNANSWERED_REASON;
    const status = this.#entries[index]?.status ?? null;
    return status === null ? 'given up by the proxy before we saw an answer' : `status ${status}`;
  }

  #elapsed(): number {
    return Math.round((this.#clock.now() - this.#ctx.startedAt) * 1000) / 1000;
  }
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

/** Endpoints of a pool are rows of their own. */
function shownOf(place: Place): Parameters<LiveFigures['begin']>[1] {
  const { deployment, endpoint } = place;
  if (endpoint === undefined) return deployment;
  return { id: nameOf(place), model: deployment.model, backend: deployment.backend };
}

function endpointOf({ endpoint }: Place): Pick<AttemptRecord, 'endpoint'> {
  return endpoint === undefined ? {} : { endpoint: addressOf(endpoint) };
}
