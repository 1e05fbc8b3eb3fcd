import type { UpstreamScript } from '../support/upstream-script.ts';
import {
  type CaseRequest,
  type CaseStep,
  type CaseUpstream,
  type Claim,
  type ConfigHint,
  type Report,
  reportOf,
} from './report.ts';

/** A relative of a public report: the same kind of fault with another input. */
export interface Kin {
  readonly id: string;
  readonly hint?: ConfigHint;
  readonly steps: readonly Partial<CaseStep>[];
  readonly claims: readonly Claim[];
}

export const ONE: ConfigHint = {
  backends: [{ name: 'A', kind: 'openai', serves: ['gpt-test'], key: 'sk-provider-secret' }],
};
export const TWO: ConfigHint = {
  backends: [
    { name: 'A', kind: 'openai', serves: ['gpt-test'] },
    { name: 'B', kind: 'openai', serves: ['gpt-test'] },
  ],
};

export const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer ${good_token}' } as const;

/** A chat of one short question, with what is given on top. */
export function chat(extra: object = {}, headers: Readonly<Record<string, string>> = {}): CaseRequest {
  const body = { model: 'gpt-test', messages: [{ role: 'user', content: 'hi' }], ...extra };
  return { method: 'POST', path: '/v1/chat/completions', headers: { ...HEADERS, ...headers }, body };
}

export function streamed(extra: object = {}): CaseRequest {
  return chat({ stream: true, ...extra });
}

/** A body as it stands. */
export function raw(
  body: string,
  path = '/v1/chat/completions',
  headers: Readonly<Record<string, string>> = {},
): CaseRequest {
  return { method: 'POST', path, headers: { ...HEADERS, ...headers }, body_raw: body };
}

/** An event with one choice. */
export function chunk(delta: object, finish: string | null = null, more: object = {}, index = 0): string {
  const base = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-test' };
  return event(JSON.stringify({ ...base, choices: [{ index, delta, finish_reason: finish }], ...more }));
}

export function event(data: string): string {
  return `data: ${data}\n\n`;
}

export const DONE = event('[DONE]');
/** A short stream that says "Alpha". */
export const AL = chunk({ role: 'assistant', content: 'Al' });
export const PHA = chunk({ content: 'pha' }, 'stop');
export const ALPHA = [AL, PHA, DONE] as const;

type Chunks = Extract<UpstreamScript, { status: number }>['chunks'];

export function sse(...chunks: NonNullable<Chunks>): UpstreamScript {
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, chunks };
}

/** Each byte in a piece of its own. */
export function bytewise(text: string): readonly { readonly base64: string }[] {
  return [...Buffer.from(text)].map((byte) => ({ base64: Buffer.from([byte]).toString('base64') }));
}

export function json(body: string, status = 200, headers: Readonly<Record<string, string>> = {}): UpstreamScript {
  return { status, headers: { 'content-type': 'application/json', ...headers }, chunks: [body] };
}

/** A whole answer that says "ok". */
export function answer(over: object = {}, message: object = { role: 'assistant', content: 'ok' }): string {
  const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return JSON.stringify({
    id: 'r1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices,
    usage,
    ...over,
  });
}

export function is(on: string, op: string, value?: unknown): Claim {
  return { on, op, value };
}

export function status(...among: readonly number[]): Claim {
  return is('client.status', 'in', among);
}

export const OK = status(200);
/** Status 200 and this text in the stream. */
export function says(text: string): readonly Claim[] {
  return [OK, is('client.sse[*].choices[0].delta.content', 'concat_eq', text)];
}
export const ENDS = is('client.sse.done', 'eq', true);
export const COMPLETE = is('ledger[0].status', 'eq', 'complete');
export const BOOKED_AS_ERROR = is('ledger[0].status', 'eq', 'error');
export const ERROR_IN_STREAM = is('client.sse[last_json].error.message', 'is_string');
export const NOT_SENT = is('upstream.count', 'eq', 0);
/** An error of one of these statuses, as OpenAI's object. */
export function fails(...among: readonly number[]): readonly Claim[] {
  return [
    status(...among),
    is('client.headers.content-type', 'startswith', 'application/json'),
    is('client.body.error.message', 'is_string'),
    is('client.body.error.type', 'is_string'),
  ];
}

/** One request, one answer. */
export function kin(
  id: string,
  request: CaseRequest,
  upstream: CaseUpstream,
  claims: readonly Claim[],
  hint: ConfigHint = ONE,
): Kin {
  return { id, hint, steps: [{ request, upstream }], claims };
}

/** As a report, for the runner. */
export function reportOfKin({ id, hint = ONE, steps, claims }: Kin): Report {
  const request = chat();
  const upstream = json(answer());
  return reportOf({
    id,
    symptom: '',
    input: { request, upstream, config_hint: hint, steps: steps.map((step) => ({ request, upstream, ...step })) },
    expect: { assert: claims },
  });
}
