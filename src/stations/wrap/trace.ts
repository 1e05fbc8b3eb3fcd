import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Judged } from '../../core/decision.ts';
import type { Json } from '../../core/json.ts';
import type { Ending } from '../../core/ending.ts';
import { formatMicroUnits } from '../../core/money.ts';
import type { RequestTrace } from '../../core/ports/trace-store.ts';
import type { AttemptRecord } from '../../core/trail.ts';

/** The one structured event of a request: what each station did, who served, what it cost. No prompt, no credential. */
export function traceOf(ctx: Partial<RequestContext> & Arrived, ending: Ending): RequestTrace {
  const { usage } = ending;
  const booked = ending.events.find((event) => event.chargedTo === 'tenant');
  return {
    id: ctx.id,
    request_id: ctx.shownId,
    started: new Date(ctx.time).toISOString(),
    method: ctx.head.method,
    path: pathOnly(ctx.head.path),
    tenant: ctx.principal?.tenant ?? null,
    subject: ctx.principal?.subject ?? null,
    business_line: ctx.principal?.businessLine ?? null,
    requested_model: ctx.request?.model ?? null,
    stream: ctx.request?.stream ?? null,
    route: ctx.decision?.route.id ?? null,
    route_reason: ctx.decision?.reason ?? null,
    class: shownClass(ctx),
    fallback_reason: ctx.decision?.fallbackReason ?? null,
    surge: shownSurge(ctx),
    candidates: (ctx.decision?.judged() ?? []).map(shownCandidate),
    model: booked?.model ?? null,
    backend: booked?.backend ?? null,
    outcome: ending.kind === 'cut' ? `cut_by_${ending.by}` : ending.kind,
    status: ending.status,
    error: ending.kind === 'failed' ? ending.error.code : null,
    error_message: ending.kind === 'failed' ? ending.error.message.slice(0, 256) : null,
    stations: ctx.trail.stations(),
    attempts: ending.attempts.map(shownAttempt),
    usage: {
      prompt_tokens: usage.prompt,
      cached_tokens: usage.cached,
      completion_tokens: usage.completion,
      reasoning_tokens: usage.reasoning,
      estimated: usage.source === 'estimate',
      flag: ending.usageFlag,
    },
    cost: booked === undefined ? null : formatMicroUnits(booked.cost),
    currency: booked?.currency ?? null,
    first_token_ms: thousandths(ending.firstTokenMs),
    total_ms: thousandths(ending.totalMs),
    config_generation: ctx.config.generation,
    rollout: ctx.rollout ? { id: ctx.rollout.rollout, configuration: ctx.rollout.arm } : null,
  };
}

/** What high load made of the request; null where it came in a usual time. */
function shownSurge({ surge, decision }: Partial<RequestContext>): Json {
  if (surge === undefined) return null;
  const { level, reduced, buffered } = surge;
  return {
    level,
    n_reduced: reduced === null ? null : { ...reduced },
    diverted: decision?.fallbackReason === 'surge',
    buffered,
  };
}

/** Which class the request was put in, and by what; null where the route has no classifier. */
function shownClass({ decision }: Partial<RequestContext>): Json {
  const classified = decision?.classified ?? null;
  if (classified === null) return null;
  const { classifier, class: name, by, margin } = classified;
  return { classifier, class: name, by, margin: Number.isFinite(margin) ? thousandths(margin) : null };
}

function shownAttempt({ startedMs, firstByteMs, ...rest }: AttemptRecord): Json {
  return { ...rest, started_ms: thousandths(startedMs), first_byte_ms: thousandths(firstByteMs) };
}

function thousandths(figure: number | null): number | null {
  return figure === null ? null : Math.round(figure * 1000) / 1000;
}

function shownCandidate(judged: Judged): Json {
  const { estimateMs, estimateCost, ...rest } = judged;
  return { ...rest, estimate_ms: estimateMs, estimate_cost_micros: estimateCost };
}

/** Query strings may hold keys of careless clients. */
function pathOnly(path: string): string {
  const query = path.indexOf('?');
  return (query === -1 ? path : path.slice(0, query)).slice(0, 256);
}
