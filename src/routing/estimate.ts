import type { LiveTarget } from './live-target.ts';
import type { Ask } from './target.ts';

/** What a request would probably take there now, milliseconds; `total` is null where too little is known. */
export interface Estimate {
  readonly queueMs: number;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
}

/** Estimates a request at its present load: wait for room, first token, then so many tokens at the pace seen. */
export function estimate(live: LiveTarget, ask: Ask, now: number): Estimate {
  const { target } = live;
  const expected = live.expectedFirst(ask.promptTokens);
  const firstTokenMs = expected === null ? null : expected * Math.max(1, live.firstTokenPace(now) ?? 1);
  const tokenMs = live.tokenPace() ?? target.prior.tokenMs;
  if (firstTokenMs === null || tokenMs === null) return { queueMs: 0, firstTokenMs, totalMs: null };
  const serviceMs = firstTokenMs + tokenMs * Math.max(0, ask.outputTokens - 1);
  const limit = live.busy.limit;
  const waiting = limit === null ? 0 : Math.max(0, live.running + 1 - limit);
  const queueMs = limit === null ? 0 : (waiting * serviceMs) / limit;
  return { queueMs, firstTokenMs: queueMs + firstTokenMs, totalMs: queueMs + serviceMs };
}

/** What a request costs there if it goes as estimated, micro-units. */
export function costOf({ price }: LiveTarget['target'], ask: Ask): number {
  return (price.prompt * ask.promptTokens + price.completion * ask.outputTokens) / 1_000_000;
}
