import { retryAfterMs } from '../core/retry-after.ts';
import type { RequestContext } from '../core/context.ts';
import type { ResponseHead } from '../core/http.ts';
import { Answer, type AnswerEnd } from './answer.ts';
import type { Closing } from './closing.ts';
import type { ClosingHow } from './closing-how.ts';
import type { FlowOptions } from './flow-options.ts';
import { answerHeaders, errorHead, usageHeaders } from './response-heads.ts';

/** Joins the parts of one upstream answer: its decoder, the client's encoder, the meter and the headers. */
export function openAnswer(
  options: FlowOptions,
  ctx: RequestContext,
  closing: Closing,
  head: ResponseHead,
  end: (how: ClosingHow) => ReturnType<Closing['end']>,
): Answer {
  const attempt = closing.current;
  if (attempt === null) throw new TypeError('no attempt to read the answer of');
  closing.attempts.answered(head.status, retryAfterMs(head.headers));
  const limits = ctx.admission.kind === 'held' ? ctx.admission.limits : [];
  const answer = new Answer({
    ctx,
    upstreamHead: head,
    decoder: options.adapt.decoder(ctx, attempt, head),
    encoder: options.client.encoder({
      stream: ctx.request.stream,
      includeUsage: ctx.request.includeUsage,
      n: ctx.request.n,
      answer: options.adapt.identity(ctx, attempt),
    }),
    meter: closing.meter(ctx.request.promptTokens),
    headers: () => {
      closing.attempts.begun = true;
      return [...answerHeaders(ctx, closing), ...options.rateLimitHeaders(limits)];
    },
    usageHeaders: () => usageHeaders(closing.tally()),
    errorHead: (error, raw) => errorHead(ctx, closing, error, raw),
    onEnd: (how) => {
      if (how.kind === 'cut' || (how.kind === 'failed' && how.begun)) closing.attempts.begun = true;
      ctx.trail.note('wrap', answer.micros, how.kind, `status ${head.status} of ${attempt.candidate.deployment.id}`);
      return end(closingOf(how));
    },
    onFirstOutput: () => closing.attempts.firstToken(),
  });
  return answer;
}

function closingOf(end: AnswerEnd): ClosingHow {
  switch (end.kind) {
    case 'complete':
      return { kind: 'complete' };
    case 'failed':
      return { kind: 'failed', error: end.error };
    case 'cut':
      return { kind: 'cut', by: 'deadline' };
  }
}
