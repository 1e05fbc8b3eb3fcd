/**
 * A demo model server that speaks vLLM's plain `POST /generate`. No model in it: it echoes. For the demo and for tests.
 * `node demo-vllm-server.ts --port 9002 --token-delay-ms 30 --separator nul --max-tokens-field max_new_tokens --fault hang`
 */
import { parseArgs } from 'node:util';
import { type DemoReply, demoReply, tokensOf } from './demo-model.ts';
import {
  type DemoCall,
  DemoRefusal,
  type DemoServer,
  type DemoServerOptions,
  generateWhole,
  startDemoServer,
  writeTokens,
} from './demo-server.ts';

const SEPARATORS = { newline: '\n', nul: '\0' } as const;
/** Control tokens of the common chat formats. */
const CONTROL = /<[|｜][^|｜<>\s]+[|｜]>|\[\/?INST\]|<\/?s>|<(?:start|end)_of_turn>/;
/** vLLM fails on a sampling parameter that it does not know; so does this. */
const KNOWN = new Set([
  'prompt',
  'stream',
  'n',
  'max_tokens',
  'max_new_tokens',
  'stop',
  'seed',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'stop_token_ids',
  'bad_words',
  'allowed_token_ids',
  'min_tokens',
  'ignore_eos',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'include_stop_str_in_output',
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
]);

export interface DemoVllmOptions extends DemoServerOptions {
  /** What ends a record of a stream: newer servers write a newline, older ones NUL. */
  readonly separator?: keyof typeof SEPARATORS;
  /** The other name is refused. */
  readonly maxTokensField?: 'max_tokens' | 'max_new_tokens';
}

/** `/generate`, `/health`, `/demo/stats`, `/demo/fault`. Faults come by `x-demo-fault` or for every request: there is no model name. */
export function startDemoVllm(options: DemoVllmOptions = {}): Promise<DemoServer> {
  const { separator = 'newline', maxTokensField = 'max_tokens' } = options;
  return startDemoServer(options, { '/generate': (call) => generate(call, SEPARATORS[separator], maxTokensField) });
}

async function generate(call: DemoCall, separator: string, maxTokensField: string): Promise<void> {
  const { body, stats, response } = call;
  const { prompt } = body;
  for (const name of Object.keys(body)) {
    const isOther = name.startsWith('max_') && name !== maxTokensField;
    if (!KNOWN.has(name) || isOther) throw new DemoRefusal(500, `unexpected keyword argument '${name}'`);
  }
  if (typeof prompt !== 'string') throw new DemoRefusal(500, 'prompt must be a string');
  const n = typeof body['n'] === 'number' ? body['n'] : 1;
  const replies = Array.from({ length: n }, (_, index) => reply(body, prompt, index, maxTokensField));
  stats.promptTokens += prompt.split(CONTROL).reduce((sum, part) => sum + tokensOf(part).length, 0);
  if (body['stream'] === true) {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.flushHeaders();
    const error = asciiJson({ error: { message: 'a fault on purpose', code: 500 } }) + separator;
    if (await writeTokens(call, steps(replies, prompt, separator), error)) response.end();
    return;
  }
  const tokens = replies.reduce((sum, one) => sum + one.tokens.length, 0);
  if (!(await generateWhole(call, tokens))) return;
  const whole = Buffer.from(asciiJson({ text: replies.map((one) => prompt + one.tokens.join('')) }));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole);
}

function reply(body: DemoCall['body'], prompt: string, index: number, maxTokensField: string): DemoReply {
  const outputs = body['structured_outputs'] as { json?: unknown; json_object?: unknown } | undefined;
  const schema = outputs?.json ?? (outputs?.json_object === true ? {} : (body['guided_json'] ?? null));
  const maxTokens = body[maxTokensField];
  return demoReply({
    text: lastQuestion(prompt),
    index,
    // As vLLM: 16 tokens when nothing is said.
    maxTokens: typeof maxTokens === 'number' ? maxTokens : 16,
    stop: [body['stop'] ?? []].flat().filter((one) => typeof one === 'string'),
    schema,
  });
}

/** What stands last in a prompt of any common chat format that is not the opening of the answer. */
function lastQuestion(prompt: string): string {
  const parts = prompt
    .split(CONTROL)
    .map((part) => part.trim())
    .filter((part) => part !== '' && part !== 'assistant' && part !== 'model');
  return (parts.at(-1) ?? prompt).replace(/^user\n/, '');
}

/** One token of each choice a record; each record has the whole text so far, prompt included. */
function steps(replies: readonly DemoReply[], prompt: string, separator: string): { text: string; tokens: number }[] {
  const length = Math.max(1, ...replies.map((one) => one.tokens.length));
  return Array.from({ length }, (_, at) => ({
    text: asciiJson({ text: replies.map((one) => prompt + one.tokens.slice(0, at + 1).join('')) }) + separator,
    tokens: replies.filter((one) => at < one.tokens.length).length,
  }));
}

/** JSON as Python writes it: ASCII only. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '9002' },
      host: { type: 'string', default: '127.0.0.1' },
      'token-delay-ms': { type: 'string', default: '30' },
      separator: { type: 'string', default: 'newline' },
      'max-tokens-field': { type: 'string', default: 'max_tokens' },
      fault: { type: 'string' },
      'api-key': { type: 'string' },
    },
  });
  const server = await startDemoVllm({
    port: Number(values.port),
    host: values.host,
    tokenDelayMs: Number(values['token-delay-ms']),
    separator: values.separator === 'nul' ? 'nul' : 'newline',
    maxTokensField: values['max-tokens-field'] === 'max_new_tokens' ? 'max_new_tokens' : 'max_tokens',
    fault: values.fault ?? null,
    apiKey: values['api-key'] ?? null,
  });
  console.log(`demo vLLM server on ${server.url}`);
}
