import type { LiveTarget } from './live-target.ts';
import type { SizedAsk } from './target.ts';

/** What a request would probably take there now, milliseconds; null where too little is known. */
export interface Estimate {
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
}

/**
 * Estimates a request at its present load: wait for room, then an answer of the usual length at the pace seen.
 * @param unreadTokens - Of the prompt, those that are not warm there.
 */
export function estimate(live: LiveTarget, ask: SizedAsk, now: number, unreadTokens = ask.promptTokens): Estimate {
  const { firstTokenMs, totalMs } = service(live, ask, now, unreadTokens);
  if (totalMs === null) return { firstTokenMs, totalMs };
  const { limit } = live.busy;
  const waiting = limit === null ? 0 : Math.max(0, live.running + 1 - limit);
  const queueMs = limit === null ? 0 : (waiting * totalMs) / limit;
  return { firstTokenMs: firstTokenMs === null ? null : queueMs + firstTokenMs, totalMs: queueMs + totalMs };
}

/** How long it takes once there is room. */
function service(live: LiveTarget, ask: SizedAsk, now: number, unreadTokens: number): Estimate {
  const { prior } = live.target;
  const pace = live.pace(ask.kind);
  const speed = live.speed(ask.kind);
  const output = pace.likelyOutput(ask.outputTokens, ask.likelyTokens);
  const slower = Math.max(1, speed?.answerPace(now) ?? 1);
  if (!ask.stream) {
    const seen = pace.expected(output);
    if (seen !== null) return { firstTokenMs: seen * slower, totalMs: seen * slower };
  }
  const expected = ask.stream ? pace.expected(unreadTokens) : null;
  const firstTokenMs = expected === null ? prior.firstTokenMs : expected * slower;
  const tokenMs = speed?.tokenPace(now) ?? prior.tokenMs;
  if (firstTokenMs === null || tokenMs === null) return { firstTokenMs, totalMs: prior.totalMs };
  return { firstTokenMs, totalMs: firstTokenMs + tokenMs * Math.max(0, output - 1) };
}

/** What a request costs there if it goes as usual, micro-units. */
export function costOf(live: LiveTarget, { promptTokens, outputTokens, likelyTokens, kind }: SizedAsk): number {
  const { price } = live.target;
  const output = live.pace(kind).likelyOutput(outputTokens, likelyTokens);
  return (price.prompt * promptTokens + price.completion * output) / 1_000_000;
}
