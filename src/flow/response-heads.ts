import type { GatewayError } from '../core/error.ts';
import { headerValue } from '../core/header-value.ts';
import type { HeaderPair } from '../core/http.ts';
import { formatMicroUnits } from '../core/money.ts';
import type { Mutation } from '../core/mutation.ts';
import { errorResponse } from '../stations/wrap/error-response.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Closing } from './closing.ts';
import type { GrowingContext } from './walk.ts';

/** Whose tries an answer came from. */
interface Tried {
  readonly attempts: AttemptLog;
}

/** What every answer of a known request says of itself, as far as it is known by now. */
export function answerHeaders(ctx: GrowingContext, tried: Tried | null): readonly HeaderPair[] {
  const headers: HeaderPair[] = [...refusalHeaders(ctx.shownId)];
  if (ctx.decision !== undefined) headers.push(['x-route-id', headerValue(ctx.decision.route.id)]);
  const classified = ctx.decision?.classified ?? null;
  if (classified !== null) headers.push(['x-route-class', classified.class]);
  const attempt = tried?.attempts.current ?? null;
  if (tried !== null && attempt !== null) {
    headers.push(
      ['x-tokenlat-model', headerValue(attempt.candidate.deployment.model)],
      ['x-tokenlat-backend', headerValue(attempt.candidate.deployment.backend.name)],
      ['x-tokenlat-attempts', String(tried.attempts.count)],
      [
        'x-route-reason',
        tried.attempts.count > 1 && attempt.candidate !== ctx.decision?.candidates[0]
          ? 'fallback'
          : attempt.candidate.reason,
      ],
    );
    const reason = ctx.decision?.fallbackReason ?? null;
    if (reason !== null) headers.push(['x-fallback-reason', reason]);
    headers.push(...surgeHeaders(ctx));
  }
  return headers;
}

/** Of answers that high load made another thing than was asked for. */
function surgeHeaders({ surge, decision }: GrowingContext): readonly HeaderPair[] {
  if (surge === undefined) return [];
  const { level, reduced, buffered } = surge;
  const headers: HeaderPair[] = [];
  if (reduced !== null || buffered || decision?.fallbackReason === 'surge')
    headers.push(['x-tokenlat-surge', String(level)]);
  if (reduced !== null) headers.push(['x-resource-adapted', `n_reduced_from_${reduced.from}_to_${reduced.to}`]);
  return headers;
}

export function refusalHeaders(shownId: string): readonly HeaderPair[] {
  return shownId === '' ? [] : [['x-request-id', shownId]];
}

/** Tokens and cost of a whole answer. */
export function usageHeaders(tally: ReturnType<Closing['tally']>): readonly HeaderPair[] {
  if (tally === null) return [];
  const { usage, cost, currency } = tally;
  return [
    ['x-prompt-tokens', String(usage.prompt)],
    ['x-completion-tokens', String(usage.completion)],
    ['x-total-tokens', String(usage.prompt + usage.completion)],
    ['x-request-cost', formatMicroUnits(cost)],
    ['x-request-cost-currency', currency],
  ];
}

/** An error that replaces an upstream's answer: status and headers by mutation, its body as our own chunk. */
export function errorHead(
  ctx: GrowingContext,
  tried: Tried | null,
  error: GatewayError,
  raw?: Buffer,
): { readonly head: Mutation; readonly body: Uint8Array } {
  const response = errorResponse(ctx.dialect, error, answerHeaders(ctx, tried), raw);
  return {
    head: {
      set: [
        [':status', String(response.status)],
        ...response.headers,
        ['content-length', String(response.body.length)],
      ],
      remove: ['x-tokenlat-local', 'content-encoding'],
    },
    body: response.body,
  };
}
