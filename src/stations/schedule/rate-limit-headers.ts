import type { HeaderPair } from '../../core/http.ts';
import type { LimitState, LimitUnit } from '../../core/limit.ts';

const UNITS: readonly LimitUnit[] = ['requests', 'tokens'];

/** A span as OpenAI writes it: `120ms`, `1s`, `6m0s`, `1h0m5s`. Rounded up: too early a retry is refused again. */
export function formatSpan(ms: number): string {
  if (ms <= 0) return '0s';
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return `${hours}h${minutes}m${seconds % 60}s`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}

function tightest(limits: readonly LimitState[], unit: LimitUnit): LimitState | undefined {
  let found: LimitState | undefined;
  for (const state of limits) {
    // Requests at once are no rate.
    if (state.line.unit !== unit || state.line.window.kind === 'concurrent') continue;
    if (
      found === undefined ||
      state.remaining < found.remaining ||
      (state.remaining === found.remaining && state.resetMs > found.resetMs)
    ) {
      found = state;
    }
  }
  return found;
}

/** `x-ratelimit-limit-`, `-remaining-` and `-reset-` of requests and tokens: for each the line with the least left. */
export function rateLimitHeaders(limits: readonly LimitState[]): HeaderPair[] {
  return UNITS.flatMap((unit): HeaderPair[] => {
    const state = tightest(limits, unit);
    if (state === undefined) return [];
    return [
      [`x-ratelimit-limit-${unit}`, String(state.line.limit)],
      [`x-ratelimit-remaining-${unit}`, String(state.remaining)],
      [`x-ratelimit-reset-${unit}`, formatSpan(state.resetMs)],
    ];
  });
}
