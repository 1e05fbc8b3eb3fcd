import type { RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import { type ErrorCode, GatewayError } from '../core/error.ts';
import type { LedgerEvent, LedgerStatus } from '../core/ledger-event.ts';
import { isPromise } from '../core/maybe-promise.ts';
import type { Mutation } from '../core/mutation.ts';
import { costOf, formatMicroUnits, type MicroUnits } from '../core/money.ts';
import type { Attempt } from '../core/station.ts';
import { NO_USAGE, totalTokens, type Usage } from '../core/usage.ts';
import { bookedEvents, ledgerEvent } from '../stations/wrap/ledger-events.ts';
import { AttemptLog } from './attempt-log.ts';
import type { ClosingHow } from './closing-how.ts';
import type { FlowOptions } from './flow-options.ts';
import { UsageMeter } from './usage-meter.ts';
import { type GrowingContext, walkFinish } from './walk.ts';
import { toError } from '../lib/error/to-error.ts';

const SILENCE: ReadonlySet<ErrorCode> = new Set(['upstream_timeout', 'upstream_unreachable']);

/** What becomes of a request at its end: its usage, its cost, its trace, and every station's `finish`, once. */
export class Closing {
  readonly attempts: AttemptLog;
  readonly #options: FlowOptions;
  readonly #ctx: GrowingContext;
  #meter: UsageMeter | null = null;
  #ended = false;
  #stoppedAt: number | null = null;

  constructor(options: FlowOptions, ctx: GrowingContext) {
    this.#options = options;
    this.#ctx = ctx;
    this.attempts = new AttemptLog({ ctx, ...options });
  }

  /** The try that is under way or served. */
  get current(): Attempt | null {
    return this.attempts.current;
  }

  /** The meter of the answer that the client gets. */
  meter(promptEstimate: number): UsageMeter {
    this.#meter = new UsageMeter(promptEstimate);
    return this.#meter;
  }

  /** The request is over, though why is not known yet. */
  stopClock(): void {
    this.#stoppedAt ??= this.#options.clock.now();
  }

  /** Usage and cost of the answer as it stands, for headers. */
  tally(): { readonly usage: Usage; readonly cost: MicroUnits; readonly currency: string } | null {
    const attempt = this.attempts.current;
    if (this.#meter === null || attempt === null) return null;
    const { usage } = this.#meter.complete();
    const { price } = attempt.candidate.deployment;
    return { usage, cost: costOf(usage, price, this.#ctx.time), currency: price.currency };
  }

  /** Ends the request; the finishing work goes on by itself. Gives the metadata for Envoy's access log. */
  end(how: ClosingHow): Mutation['metadata'] {
    if (this.#ended) return undefined;
    this.#ended = true;
    const { live, log, metrics, stations } = this.#options;
    const ending = this.#soundEnding(how);
    this.attempts.leave(how, ending.usage);
    for (const { id } of this.attempts.replayed()) metrics.replayed(id);
    if (this.#ctx.rollout) this.#options.rollouts?.ended(this.#ctx.rollout, ending);
    const finishing = walkFinish(stations, this.#ctx, ending, (station, reason) => {
      metrics.anomaly('finish_failed');
      log.error('a station could not finish a request', {
        station,
        request_id: this.#ctx.id,
        error: toError(reason),
      });
    });
    if (isPromise(finishing)) live.finishing(finishing);
    return usageMetadata(this.#ctx, ending);
  }

  /** Whatever the figures are, the request ends: its slot and its reservation must be given back. */
  #soundEnding(how: ClosingHow): Ending {
    try {
      return this.#ending(how);
    } catch (reason) {
      const { log, metrics } = this.#options;
      metrics.anomaly('ending_failed');
      log.error('a request could not be summed up', {
        request_id: this.#ctx.id,
        error: toError(reason),
      });
      return {
        kind: 'failed',
        error: GatewayError.from(reason),
        status: 500,
        usage: NO_USAGE,
        usageFlag: null,
        firstTokenMs: null,
        totalMs: this.#elapsed(),
        attempts: [],
        events: [],
      };
    }
  }

  #ending(how: ClosingHow): Ending {
    const { usage, flag } = this.#usage(how);
    const isLost = totalTokens(usage) === 0 && isSilence(how) && this.attempts.lose();
    const common = {
      usage,
      usageFlag: flag,
      firstTokenMs: this.attempts.firstTokenMs,
      totalMs: this.#elapsed(),
      attempts: this.attempts.close(how),
      events: this.#events(how, isLost, { usage, flag }),
    };
    switch (how.kind) {
      case 'complete':
        return { ...common, kind: 'complete', status: this.attempts.status ?? 200 };
      case 'answered':
        return { ...common, kind: 'complete', status: how.status };
      case 'failed':
        return { ...common, kind: 'failed', error: how.error, status: this.attempts.begun ? 200 : how.error.status };
      case 'cut':
        return { ...common, kind: 'cut', by: how.by, status: this.attempts.begun ? 200 : 0 };
    }
  }

  #elapsed(): number {
    return (this.#stoppedAt ?? this.#options.clock.now()) - this.#ctx.startedAt;
  }

  #usage(how: ClosingHow): { usage: Usage; flag: string | null } {
    const meter = this.#meter;
    if (how.kind === 'complete' && meter !== null) return meter.complete();
    const lost = how.kind === 'cut' && how.by === 'upstream' && !this.attempts.begun;
    if (how.kind === 'cut' && !lost && this.attempts.current !== null) {
      return (meter ?? new UsageMeter(this.#ctx.request?.promptTokens ?? 0)).cut();
    }
    if (how.kind === 'failed' && meter !== null && meter.producedOutput) return meter.cut();
    return { usage: meter?.toldUsage ?? NO_USAGE, flag: null };
  }

  /** `isLost`: the last try is the gateway's, so that what the tenant's request is booked as is none of its tries. */
  #events(
    how: ClosingHow,
    isLost: boolean,
    { usage, flag }: { readonly usage: Usage; readonly flag: string | null },
  ): readonly LedgerEvent[] {
    const ctx = this.#ctx as RequestContext;
    if (this.#ctx.admission === undefined || this.#ctx.decision === undefined) return [];
    const totalMs = this.#elapsed();
    const current = this.attempts.current;
    const served =
      current === null
        ? null
        : {
            number: isLost ? 0 : current.number,
            deployment: current.candidate.deployment,
            usage: isLost ? NO_USAGE : usage,
            usageFlag: flag,
            firstTokenMs: this.attempts.firstTokenMs,
            totalMs,
          };
    return bookedEvents(ctx, {
      thrownAway: this.attempts.thrownAway(),
      end: ledgerEvent(ctx, served, statusOf(how), 'tenant'),
      status: how.kind === 'failed' && !this.attempts.begun ? how.error.status : 200,
    });
  }
}

/** Did it end because nothing came, or its connection broke? An answer that is bad is one all the same. */
function isSilence(how: ClosingHow): boolean {
  if (how.kind === 'cut') return how.by === 'upstream';
  return how.kind === 'failed' && SILENCE.has(how.error.code);
}

function statusOf(how: ClosingHow): LedgerStatus {
  switch (how.kind) {
    case 'complete':
    case 'answered':
      return 'complete';
    case 'failed':
      return 'error';
    case 'cut':
      return how.by === 'client' ? 'client_aborted' : how.by === 'upstream' ? 'error' : 'partial';
  }
}

function usageMetadata(ctx: GrowingContext, ending: Ending): Mutation['metadata'] {
  const served = ending.events.find((event) => event.chargedTo === 'tenant');
  return {
    'tokenlat.usage': {
      request_id: ctx.shownId,
      tenant: ctx.principal?.tenant ?? '',
      route: ctx.decision?.route.id ?? '',
      model: served?.model ?? '',
      backend: served?.backend ?? '',
      attempts: ending.attempts.length,
      prompt_tokens: ending.usage.prompt,
      cached_tokens: ending.usage.cached,
      completion_tokens: ending.usage.completion,
      total_tokens: ending.usage.prompt + ending.usage.completion,
      cost: formatMicroUnits(served?.cost ?? (0 as MicroUnits)),
      currency: served?.currency ?? '',
    },
  };
}
