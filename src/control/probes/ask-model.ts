import { wholeBody } from '../../core/body-pieces.ts';
import type { ChatRequest } from '../../core/chat-request.ts';
import type { BackendDialect, ChatEvent } from '../../core/dialect.ts';
import { newRequestId } from '../../core/ids.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { Deployment, Limits } from '../../core/snapshot.ts';
import { upstreamPairs } from '../../core/upstream-headers.ts';
import type { Usage } from '../../core/usage.ts';
import type { Answered, Ask, Question } from '../http/ask.ts';
import type { Look } from './judge.ts';
import { reasonOf } from './probe.ts';

export interface AskModelOptions {
  readonly deployment: Deployment;
  readonly maxTokens: number;
  readonly timeoutMs: number;
  readonly dialect: BackendDialect;
  /** The request of a client that asks `model` for a short answer. */
  readonly request: (model: string, maxTokens: number) => ChatRequest;
  readonly limits: Pick<Limits, 'eventBytes'>;
  readonly ask: Ask;
  readonly trust?: Question['trust'];
  readonly clock: Pick<Clock, 'now' | 'time'>;
}

/** What came of asking, and what it used; null = nothing that would be paid for. */
export interface Spoken extends Look {
  readonly usage: Usage | null;
  readonly totalMs: number;
}

const MAX_BYTES = 262_144;

/** Asks a model for an answer of a word, as a client's request would reach it. Never rejects. */
export async function askModel(options: AskModelOptions, endpoint: Endpoint): Promise<Spoken> {
  const { deployment, maxTokens, clock } = options;
  let request: ChatRequest;
  let question: Question;
  try {
    request = options.request(deployment.model, maxTokens);
    question = questionOf(options, request, endpoint);
  } catch (error) {
    // Its dialect has no words for it, which is no fault of the model's.
    return { up: null, detail: reasonOf(error), usage: null, totalMs: 0 };
  }
  const startedAt = clock.now();
  const estimate: Usage = {
    prompt: request.promptTokens,
    cached: 0,
    completion: maxTokens,
    reasoning: 0,
    source: 'estimate',
  };
  let answered: Answered;
  try {
    answered = await options.ask(question);
  } catch (error) {
    // Cut off after it was asked: it may have answered all the same, and be paid for it.
    const wasAsked = clock.now() - startedAt >= options.timeoutMs;
    return { up: false, detail: reasonOf(error), usage: wasAsked ? estimate : null, totalMs: clock.now() - startedAt };
  }
  return { ...judge(options, request, answered, estimate), totalMs: clock.now() - startedAt };
}

function questionOf(
  { deployment, dialect, timeoutMs, trust }: AskModelOptions,
  request: ChatRequest,
  { host, port }: Endpoint,
): Question {
  const { backend } = deployment;
  const { path, headers, body } = dialect.encode(request, deployment);
  const pairs = upstreamPairs(backend, path, headers);
  return {
    tls: backend.tls,
    host,
    port,
    path: pairs.find(([name]) => name === ':path')?.[1] ?? path,
    method: 'POST',
    headers: pairs.filter(([name]) => !name.startsWith(':')),
    body: wholeBody(body),
    timeoutMs,
    maxBytes: MAX_BYTES,
    allowLinkLocal: backend.probes?.allowLinkLocal ?? false,
    trust,
  };
}

function judge(
  { deployment, dialect, limits, clock }: AskModelOptions,
  request: ChatRequest,
  { head, body }: Answered,
  estimate: Usage,
): Look & { readonly usage: Usage | null } {
  const { status } = head;
  // It is full, or it does not do this kind of work: no sign that it is ill.
  if (status >= 400 && status < 500 && status !== 408) return { up: null, detail: `answered ${status}`, usage: null };
  const id = newRequestId(0).replace('-', '');
  const decoder = dialect.decoder(head, {
    request,
    deployment,
    modelShown: deployment.model,
    answerId: `chatcmpl-${id}`,
    created: Math.floor(clock.time() / 1000),
    maxEventBytes: limits.eventBytes,
    maxAnswerBytes: MAX_BYTES,
  });
  const events: readonly ChatEvent[] = [...decoder.push(body), ...decoder.end()];
  const answers = events.flatMap((event) => (event.kind === 'answer' || event.kind === 'chunk' ? [event.facts] : []));
  const failed = events.find((event) => event.kind === 'error');
  const told = answers.map(({ usage }) => usage).findLast((usage) => usage !== null) ?? failed?.usage ?? null;
  const isOk = status >= 200 && status < 300;
  const usage = told ?? (isOk ? estimate : null);
  if (!isOk) return { up: false, detail: `answered ${status}`, usage };
  if (failed !== undefined) return { up: false, detail: reasonOf(failed.error), usage };
  const hasContent = answers.some(({ outputChars }) => outputChars > 0);
  return { up: hasContent, detail: hasContent ? '' : 'an empty answer', usage };
}
