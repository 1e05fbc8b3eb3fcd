/**
 * A demo model server that speaks OpenAI's API. No model in it: it echoes. For the demo and for tests.
 * `node demo-openai-server.ts --port 9001 --token-delay-ms 30 --fault fail-503 --api-key KEY --models a,b`
 */
import { parseArgs } from 'node:util';
import { type DemoReply, demoReply, sample, tokensOf } from './demo-model.ts';
import {
  type DemoCall,
  DemoRefusal,
  type DemoServer,
  type DemoServerOptions,
  generateWhole,
  sendJson,
  startDemoServer,
  writeTokens,
} from './demo-server.ts';

type Body = DemoCall['body'];

const CREATED = 1_700_000_000;
const DIMENSIONS = 8;
const ERROR_EVENT = `data: ${JSON.stringify({ error: { message: 'a fault on purpose', type: 'server_error', param: null, code: null } })}\n\n`;

interface ToolCall {
  readonly name: string;
  readonly arguments: string;
}

/** One choice: words, or a call of a tool. */
interface Choice {
  readonly reply: DemoReply;
  readonly call: ToolCall | null;
}

export interface DemoOpenAiOptions extends DemoServerOptions {
  /** What `/v1/models` lists; any name is served. */
  readonly models?: readonly string[];
}

/** `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`, `/v1/models`, `/health`, `/demo/stats`, `/demo/fault`. */
export function startDemoOpenAi(options: DemoOpenAiOptions = {}): Promise<DemoServer> {
  const models = options.models ?? ['demo'];
  const list = {
    object: 'list',
    data: models.map((id) => ({ id, object: 'model', created: CREATED, owned_by: 'demo' })),
  };
  const posts = { '/v1/chat/completions': generate, '/v1/completions': generate, '/v1/embeddings': embed };
  return startDemoServer(options, posts, { '/v1/models': () => list });
}

async function generate(call: DemoCall): Promise<void> {
  const { body, stats, response, fault } = call;
  const isChat = call.path === '/v1/chat/completions';
  const texts = isChat ? messageTexts(body) : [textOf(first(body['prompt']))];
  const promptTokens = texts.reduce((sum, text) => sum + tokensOf(text).length, 0);
  const choices = Array.from({ length: positive(body, 'n') ?? 1 }, (_, index) =>
    choose(body, texts.at(-1) ?? '', index),
  );
  const completionTokens = choices.reduce((sum, choice) => sum + pieces(choice).length, 0);
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  const head = {
    id: `${isChat ? 'chatcmpl' : 'cmpl'}-demo${stats.requests}`,
    created: CREATED,
    model: body['model'] ?? 'demo',
  };
  stats.promptTokens += promptTokens;
  if (body['stream'] === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    const object = isChat ? 'chat.completion.chunk' : 'text_completion';
    const event = (part: object): string => `data: ${JSON.stringify({ ...head, object, ...part })}\n\n`;
    if (!(await writeTokens(call, steps(choices, isChat, event), ERROR_EVENT))) return;
    const wantsUsage = (body['stream_options'] as { include_usage?: unknown } | undefined)?.include_usage === true;
    if (wantsUsage && fault?.kind !== 'no-usage') response.write(event({ choices: [], usage }));
    response.end('data: [DONE]\n\n');
    return;
  }
  if (!(await generateWhole(call, completionTokens))) return;
  const object = isChat ? 'chat.completion' : 'text_completion';
  const answer = { ...head, object, choices: choices.map((choice, index) => whole(choice, index, isChat)) };
  sendJson(response, 200, fault?.kind === 'no-usage' ? answer : { ...answer, usage });
}

function choose(body: Body, text: string, index: number): Choice {
  const call = toolCall(body, text);
  const format = body['response_format'] as { type?: string; json_schema?: { schema?: unknown } } | undefined;
  const isJson = format?.type === 'json_object' || format?.type === 'json_schema';
  const maxTokens = positive(body, 'max_completion_tokens') ?? positive(body, 'max_tokens');
  const stop = [body['stop'] ?? []].flat().filter((one) => typeof one === 'string');
  return {
    reply: demoReply({ text, index, maxTokens, stop, schema: isJson ? (format.json_schema?.schema ?? {}) : null }),
    call,
  };
}

/** A tool is called when the last message is the user's and names it, or when the client leaves no choice. */
function toolCall(body: Body, text: string): ToolCall | null {
  const tools = Array.isArray(body['tools'])
    ? (body['tools'] as { function?: { name?: string; parameters?: unknown } }[])
    : [];
  const choice = body['tool_choice'] as string | { function?: { name?: string } } | undefined;
  const last = (body['messages'] as { role?: string }[] | undefined)?.at(-1);
  if (choice === 'none' || (last?.role !== 'user' && choice !== 'required')) return null;
  const wanted = typeof choice === 'object' ? choice.function?.name : undefined;
  const found = tools.find(({ function: tool }) =>
    wanted === undefined
      ? choice === 'required' || (tool?.name !== undefined && text.includes(tool.name))
      : tool?.name === wanted,
  );
  if (found?.function?.name === undefined) return null;
  const { name, parameters } = found.function;
  return { name, arguments: JSON.stringify(sample(parameters, text), null, 1) };
}

function pieces({ reply, call }: Choice): readonly string[] {
  return call === null ? reply.tokens : tokensOf(call.arguments);
}

function finishOf({ reply, call }: Choice): string {
  return call === null ? reply.finishReason : 'tool_calls';
}

function whole(choice: Choice, index: number, isChat: boolean): object {
  const { call } = choice;
  const content = call === null ? pieces(choice).join('') : null;
  const rest = { logprobs: null, finish_reason: finishOf(choice) };
  if (!isChat) return { index, text: content ?? '', ...rest };
  const calls = call === null ? {} : { tool_calls: [{ id: `call_${index}`, type: 'function', function: call }] };
  return { index, message: { role: 'assistant', content, refusal: null, ...calls }, ...rest };
}

function steps(
  choices: readonly Choice[],
  isChat: boolean,
  event: (part: object) => string,
): { text: string; tokens: number }[] {
  const chunk = (index: number, delta: object, finish: string | null): string =>
    event({ choices: [{ index, ...delta, finish_reason: finish }] });
  return choices.flatMap((choice, index) => {
    const { call } = choice;
    const opening =
      call === null
        ? { role: 'assistant', content: '' }
        : {
            role: 'assistant',
            content: null,
            tool_calls: [
              { index: 0, id: `call_${index}`, type: 'function', function: { name: call.name, arguments: '' } },
            ],
          };
    const delta = (piece: string): object => {
      if (!isChat) return { text: piece };
      return {
        delta: call === null ? { content: piece } : { tool_calls: [{ index: 0, function: { arguments: piece } }] },
      };
    };
    const list = pieces(choice).map((piece) => ({ text: chunk(index, delta(piece), null), tokens: 1 }));
    // The first token brings the opening chunk along, so that a fault after N tokens counts tokens.
    const lead = isChat ? chunk(index, { delta: opening }, null) : '';
    const end = chunk(index, isChat ? { delta: {} } : { text: '' }, finishOf(choice));
    const [head, ...tail] = list.length === 0 ? [{ text: '', tokens: 0 }] : list;
    const joined = [{ text: lead + (head?.text ?? ''), tokens: head?.tokens ?? 0 }, ...tail];
    return joined.map((step, at) => (at === joined.length - 1 ? { ...step, text: step.text + end } : step));
  });
}

async function embed({ body, stats, response }: DemoCall): Promise<void> {
  const input = body['input'];
  const isOne = typeof input === 'string' || (Array.isArray(input) && typeof input[0] === 'number');
  const inputs = (isOne ? [input] : input) as (string | number[])[];
  if (!Array.isArray(inputs)) throw new DemoRefusal(400, 'input must be a string or a list');
  const size = positive(body, 'dimensions') ?? DIMENSIONS;
  const data = inputs.map((one, index) => {
    const vector = embedding(String(one), size);
    const encoded = body['encoding_format'] === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
    return { object: 'embedding', index, embedding: encoded };
  });
  const tokens = inputs.reduce((sum, one) => sum + (typeof one === 'string' ? tokensOf(one).length : one.length), 0);
  stats.promptTokens += tokens;
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  sendJson(response, 200, { object: 'list', model: body['model'] ?? 'demo', data, usage });
}

/** Same text, same vector, of length 1. */
function embedding(text: string, size: number): Float32Array {
  const vector = new Float32Array(size);
  let state = 2_166_136_261;
  for (const byte of Buffer.from(text)) {
    state = Math.imul(state ^ byte, 16_777_619) >>> 0;
    const at = state % size;
    vector[at] = (vector[at] ?? 0) + (state / 2 ** 31 - 1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function messageTexts(body: Body): string[] {
  const messages = body['messages'];
  if (!Array.isArray(messages) || messages.length === 0) throw new DemoRefusal(400, 'messages must be a list');
  return (messages as { content?: unknown }[]).map(({ content }) =>
    Array.isArray(content)
      ? (content as { text?: unknown }[]).map(({ text }) => (typeof text === 'string' ? text : '')).join('')
      : textOf(content),
  );
}

function positive(body: Body, name: string): number | null {
  const value = body[name] ?? null;
  if (value === null || (Number.isInteger(value) && Number(value) >= 1)) return value as number | null;
  throw new DemoRefusal(400, `${name} must be a whole number of at least 1`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '9001' },
      host: { type: 'string', default: '127.0.0.1' },
      'token-delay-ms': { type: 'string', default: '30' },
      fault: { type: 'string' },
      'api-key': { type: 'string' },
      models: { type: 'string', default: 'demo' },
    },
  });
  const server = await startDemoOpenAi({
    port: Number(values.port),
    host: values.host,
    tokenDelayMs: Number(values['token-delay-ms']),
    fault: values.fault ?? null,
    apiKey: values['api-key'] ?? null,
    models: values.models.split(','),
  });
  console.log(`demo OpenAI server on ${server.url}`);
}
