import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { DecodeContext } from '../../src/core/dialect.ts';
import { HeaderList } from '../../src/core/http.ts';
import { createAnthropicBackend } from '../../src/dialects/anthropic/dialect.ts';
import { createOpenAiClient } from '../../src/dialects/openai/dialect.ts';
import { deployment } from './vllm-generate/request.ts';

/*
 * Each scenario has what comes in and, beside it, what must go out, byte for byte:
 * `NAME.request.json` (a client's body) with `NAME.request.anthropic.json` (the body at the backend), and
 * `NAME.upstream.sse` or `.json` (a backend's answer) with `NAME.client.sse` or `.json`. `.asked.`: usage is asked for.
 * `UPDATE_GOLDEN=1` writes the second files anew; the diff is then to be read.
 */
const folder = new URL('anthropic/', import.meta.url);
const client = createOpenAiClient();
const backend = createAnthropicBackend();
const UPSTREAM = deployment();

const read = (name: string): Buffer => readFileSync(new URL(name, folder));

function compare(name: string, actual: Buffer): void {
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(new URL(name, folder), actual);
  assert.ok(existsSync(new URL(name, folder)), `${name} is missing`);
  assert.equal(actual.toString(), read(name).toString());
}

function parse(body: Buffer) {
  return client.parse({ method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) }, body, { jsonDepth: 64, jsonKeys: 25_000 });
}

function answerFor(name: string, stream: boolean): Buffer {
  const options = stream && name.includes('.asked.') ? ',"stream_options":{"include_usage":true}' : '';
  const request = parse(
    Buffer.from(`{"model":"claude-test","messages":[{"role":"user","content":"hi"}],"stream":${stream}${options}}`),
  );
  const context: DecodeContext = {
    request,
    deployment: UPSTREAM,
    modelShown: 'claude-test',
    answerId: 'chatcmpl-1',
    created: 1,
    maxEventBytes: 1 << 20,
    maxAnswerBytes: 1 << 20,
  };
  const type = stream ? 'text/event-stream; charset=utf-8' : 'application/json';
  const decoder = backend.decoder({ status: 200, headers: new HeaderList([['content-type', type]]) }, context);
  const encoder = client.encoder({ stream, includeUsage: request.includeUsage });
  return Buffer.concat([...encoder.write(decoder.push(read(name))), ...encoder.write(decoder.end())]);
}

const names = readdirSync(folder);
assert.ok(names.length > 0);

for (const name of names.filter((file) => file.endsWith('.request.json'))) {
  test(name, () => compare(name.replace('.json', '.anthropic.json'), backend.encode(parse(read(name)), UPSTREAM).body));
}
for (const name of names.filter((file) => file.includes('.upstream.'))) {
  test(name, () => compare(name.replace('.upstream.', '.client.'), answerFor(name, name.endsWith('.sse'))));
}
