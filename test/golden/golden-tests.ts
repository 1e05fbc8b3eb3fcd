import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { wholeBody } from '../../src/core/body-pieces.ts';
import type { BackendDialect, DecodeContext } from '../../src/core/dialect.ts';
import { HeaderList } from '../../src/core/http.ts';
import type { Deployment } from '../../src/core/snapshot.ts';
import { createOpenAiClient } from '../../src/dialects/openai/dialect.ts';

export interface GoldenOptions {
  /** Names the folder, and what goes out to it. */
  readonly name: string;
  readonly backend: BackendDialect;
  readonly deployment: Deployment;
  /** What the client asks for. */
  readonly model: string;
  /** Of a stream. */
  readonly contentType: string;
}

/**
 * Each scenario has what comes in and, beside it, what must go out, byte for byte:
 * `X.request.json` (a client's body) with `X.request.NAME.json` (the body at the backend), and `X.upstream.sse` or `.json`
 * (a backend's answer) with `X.client.sse` or `.json`. `.asked.`: usage is asked for.
 * `UPDATE_GOLDEN=1` writes the second files anew; the diff is then to be read.
 */
export function goldenTests({ name: dialect, backend, deployment, model, contentType }: GoldenOptions): void {
  const folder = new URL(`${dialect}/`, import.meta.url);
  const client = createOpenAiClient();
  const read = (name: string): Buffer => readFileSync(new URL(name, folder));

  function compare(name: string, actual: Buffer): void {
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(new URL(name, folder), actual);
    assert.ok(existsSync(new URL(name, folder)), `${name} is missing`);
    assert.equal(actual.toString(), read(name).toString());
  }

  function parse(body: Buffer) {
    const head = { method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) };
    return client.parse(head, body, { jsonDepth: 64, jsonKeys: 25_000 });
  }

  function answerFor(name: string, stream: boolean): Buffer {
    const options = stream && name.includes('.asked.') ? ',"stream_options":{"include_usage":true}' : '';
    const request = parse(
      Buffer.from(`{"model":"${model}","messages":[{"role":"user","content":"hi"}],"stream":${stream}${options}}`),
    );
    const context: DecodeContext = {
      request,
      deployment,
      modelShown: model,
      answerId: 'chatcmpl-1',
      created: 1,
      maxEventBytes: 1 << 20,
      maxAnswerBytes: 1 << 20,
    };
    const type = stream ? contentType : 'application/json';
    const decoder = backend.decoder({ status: 200, headers: new HeaderList([['content-type', type]]) }, context);
    const encoder = client.encoder({ stream, includeUsage: request.includeUsage });
    return Buffer.concat([...encoder.write(decoder.push(read(name))), ...encoder.write(decoder.end())]);
  }

  const names = readdirSync(folder);
  assert.ok(names.length > 0);
  for (const name of names.filter((file) => file.endsWith('.request.json'))) {
    test(name, () => compare(name.replace('.json', `.${dialect}.json`), wholeBody(backend.encode(parse(read(name)), deployment).body)));
  }
  for (const name of names.filter((file) => file.includes('.upstream.'))) {
    test(name, () => compare(name.replace('.upstream.', '.client.'), answerFor(name, name.endsWith('.sse'))));
  }
}
