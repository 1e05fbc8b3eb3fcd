import { randomUUID } from 'node:crypto';
import type { TestGateway } from '../support/gateway.ts';

/** An answer, read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, or the last event of a stream before `[DONE]`; undefined when it is no JSON. */
  readonly json: Record<string, unknown> | undefined;
  /** `data` of each event of a stream, `[DONE]` too. */
  readonly events: readonly string[];
  /** The connection broke before the body was over. */
  readonly broken: boolean;
  /** What was sent as `x-request-id`. */
  readonly requestId: string;
}

export interface Sent {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends JSON as a client with that token would, each request under an id of its own. */
export type Send = (body: unknown, sent?: Sent) => Promise<Reply>;

/** A client of the gateway with one token. */
export function chatClient(gateway: Pick<TestGateway, 'url'>, token: string): Send {
  return async (body, { path = '/chat/completions', headers = {}, signal } = {}) => {
    const requestId = randomUUID();
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    const { text, broken } = await readAll(response);
    const events = text.startsWith('data:') || text.startsWith(':') ? eventsOf(text) : [];
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: parsed(events.filter((data) => data !== '[DONE]').at(-1) ?? text),
      events,
      broken,
      requestId: headers['x-request-id'] ?? requestId,
    };
  };
}

/** A question for a chat, of a few tokens. */
export function question(model: string, extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { model, messages: [{ role: 'user', content: 'Say some words, please.' }], ...extra };
}

/** The error object of an answer or of a stream's end; empty when there is none. */
export function errorOf(reply: Pick<Reply, 'json'>): Readonly<Record<string, unknown>> {
  return (reply.json?.['error'] as Record<string, unknown> | undefined) ?? {};
}

/** All that a stream said in its first choice. */
export function said(events: readonly string[]): string {
  return events
    .map(
      (data) =>
        (parsed(data)?.['choices'] as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content ?? '',
    )
    .join('');
}

function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => block.slice('data: '.length));
}

async function readAll(response: Response): Promise<{ text: string; broken: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const piece of response.body ?? []) text += decoder.decode(piece as Uint8Array, { stream: true });
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
