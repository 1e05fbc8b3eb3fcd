import OpenAI from 'openai';
import type { RequestTrace } from '../../src/core/ports/trace-store.ts';
import type { Demo } from './start-demo.ts';

/** One request of the demo and what came of it. */
export interface DemoResult {
  readonly title: string;
  readonly ok: boolean;
  readonly answer: string;
  readonly headers: Headers | null;
  readonly trace: RequestTrace | null;
}

type Run = (client: OpenAI) => Promise<{ answer: string; headers: Headers }>;

const QUESTION = [{ role: 'user' as const, content: 'Please say hello to everyone who reads this demo.' }];

/** The demo's requests, sent by the official OpenAI SDK, which knows nothing of TokenLat but its address. */
export async function demoRequests(demo: Demo): Promise<readonly DemoResult[]> {
  const client = new OpenAI({ baseURL: demo.url, apiKey: demo.token, maxRetries: 0 });
  const results: DemoResult[] = [];
  const run = async (title: string, send: Run, expected: (answer: string, trace: RequestTrace | null) => boolean) => {
    const { answer, headers } = await send(client).catch(refused);
    const id = headers?.get('x-request-id') ?? null;
    const trace = id === null ? null : await demo.trace(id);
    results.push({ title, ok: expected(answer, trace), answer, headers, trace });
  };
  const served = (backend: string) => (answer: string, trace: RequestTrace | null) =>
    answer.length > 0 && trace?.['outcome'] === 'complete' && trace['status'] === 200 && trace['backend'] === backend;
  await run('plain chat', plain('demo-chat'), served('demo-openai'));
  await run('streamed chat, OpenAI backend', streamed('demo-chat'), served('demo-openai'));
  await run('streamed chat, vLLM /generate backend', streamed('demo-llama'), served('demo-vllm'));
  await run('a model that the token may not use', plain('demo-secret'), (answer) =>
    answer.includes('model_not_allowed'),
  );
  await run('the first backend is down', plain('demo-resilient'), served('demo-vllm'));
  return results;
}

function plain(model: string): Run {
  return async (client) => {
    const { data, response } = await client.chat.completions
      .create({ model, messages: QUESTION, max_tokens: 40 })
      .withResponse();
    return { answer: data.choices[0]?.message.content ?? '', headers: response.headers };
  };
}

function streamed(model: string): Run {
  return async (client) => {
    const { data, response } = await client.chat.completions
      .create({ model, messages: QUESTION, max_tokens: 40, stream: true, stream_options: { include_usage: true } })
      .withResponse();
    let answer = '';
    for await (const chunk of data) answer += chunk.choices[0]?.delta.content ?? '';
    return { answer, headers: response.headers };
  };
}

function refused(reason: unknown): { answer: string; headers: Headers | null } {
  if (!(reason instanceof OpenAI.APIError)) throw reason;
  // The SDK puts the status before the message itself.
  const message = reason.message.replace(/^\d{3} /, '');
  return { answer: `${reason.status ?? ''} ${reason.code ?? ''}: ${message}`, headers: reason.headers ?? null };
}
