/*
 * What one stream chunk of about 200 bytes costs: read from the upstream, understood, written to the client. Beside it, in
 * the same run, what it costs to split lines, `JSON.parse` and `JSON.stringify` each chunk. Prints one line a way; ends by itself.
 */
import type { DecodeContext } from '../../src/core/dialect.ts';
import { HeaderList } from '../../src/core/http.ts';
import { createOpenAiBackend, createOpenAiClient } from '../../src/dialects/openai/dialect.ts';

const CHUNKS = 2000;
const ROUNDS = 9;
const WORDS = ['The', ' quick', ' brown', ' fox', ' said', ' \\"no\\"', '.\\n', ' größe', ' 世界', ' and', ' so'];

function chunkOf(at: number, extra = ''): string {
  const word = WORDS[at % WORDS.length];
  return `data: {"id":"chatcmpl-0123456789abcdef0123456789","object":"chat.completion.chunk","created":1764480000,"model":"gpt-test","choices":[{"index":0,"delta":{"content":"${word}"},"logprobs":null,"finish_reason":null}]${extra}}\n\n`;
}

const same = Array.from({ length: CHUNKS }, (_, at) => Buffer.from(chunkOf(at)));
const padded = Array.from({ length: CHUNKS }, (_, at) =>
  Buffer.from(chunkOf(at, `,"usage":null,"obfuscation":"${'xY3k9Q'.slice(0, 1 + (at % 6))}"`)),
);
const metered = Array.from({ length: CHUNKS }, (_, at) =>
  Buffer.from(chunkOf(at, `,"usage":{"prompt_tokens":9,"completion_tokens":${at},"total_tokens":${at + 9}}`)),
);

const head = { status: 200, headers: new HeaderList([['content-type', 'text/event-stream']]) };
const backend = createOpenAiBackend();
const client = createOpenAiClient();

function context(modelShown: string): DecodeContext {
  const request = client.parse(
    { method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) },
    Buffer.from('{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}'),
    { jsonDepth: 64, jsonKeys: 25_000 },
  );
  const limits = { maxEventBytes: 1 << 20, maxAnswerBytes: 1 << 24 };
  // The decoder reads neither the deployment nor the id.
  return { request, deployment: {} as DecodeContext['deployment'], modelShown, answerId: '', created: 0, ...limits };
}

function ours(chunks: readonly Buffer[], model: string): number {
  const decoder = backend.decoder(head, context(model));
  const encoder = client.encoder({ stream: true, includeUsage: false });
  let bytes = 0;
  for (const chunk of chunks) for (const out of encoder.write(decoder.push(chunk))) bytes += out.length;
  return bytes;
}

let read = 0;

/** The plain way, without any of the checks: one event a chunk is taken for granted. */
function plain(chunks: readonly Buffer[], model: string): number {
  let bytes = 0;
  for (const chunk of chunks) {
    for (const line of chunk.toString().split('\n')) {
      if (!line.startsWith('data: ')) continue;
      const json = JSON.parse(line.slice(6)) as {
        model: string;
        choices: { delta: { content?: string } }[];
        usage?: unknown;
      };
      read += json.choices[0]?.delta.content?.length ?? 0;
      json.model = model;
      delete json.usage;
      bytes += Buffer.from(`data: ${JSON.stringify(json)}\n\n`).length;
    }
  }
  return bytes;
}

const ways: readonly (readonly [string, () => number])[] = [
  ['ours, as it came', () => ours(same, 'gpt-test')],
  ['ours, model shown under another name', () => ours(same, 'alias')],
  ['ours, padded as OpenAI does', () => ours(padded, 'gpt-test')],
  ['ours, usage on every chunk (hidden)', () => ours(metered, 'gpt-test')],
  ['JSON.parse + JSON.stringify', () => plain(same, 'alias')],
  ['JSON.parse + JSON.stringify, usage on every chunk', () => plain(metered, 'alias')],
];

const times = ways.map((): number[] => []);
for (let round = 0; round < ROUNDS + 3; round += 1) {
  ways.forEach(([, run], at) => {
    const started = performance.now();
    for (let again = 0; again < 10; again += 1) run();
    const ns = ((performance.now() - started) * 1e6) / (10 * CHUNKS);
    if (round >= 3) times[at]?.push(ns);
  });
}

console.log(`chunk: ${same[0]?.length} bytes, node ${process.version}, median of ${ROUNDS} rounds`);
ways.forEach(([name], at) => {
  const median = times[at]?.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
  console.log(`${name.padEnd(50)} ${median.toFixed(0).padStart(6)} ns a chunk`);
});
