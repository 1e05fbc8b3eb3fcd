import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HeaderList } from '../../core/http.ts';
import type { UpstreamRequest } from '../../core/dialect.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { createOpenAiBackend, createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const backend = createOpenAiBackend();

function deployment(
  options: Record<string, string> = {},
  upstreamModel = 'served/a-much-longer-name',
  basePath = '/v1',
): Deployment {
  return { upstreamModel, backend: { basePath, options } } as unknown as Deployment;
}

function encode(body: string | object, target = deployment(), path = '/v1/chat/completions') {
  const raw = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const before = Buffer.from(raw);
  const request = client.parse({ method: 'POST', path, headers: new HeaderList([]) }, raw, {
    jsonDepth: 64,
    jsonKeys: 25_000,
  });
  const encoded = backend.encode(request, target);
  assert.deepEqual(raw, before, 'the received bytes are not touched');
  return encoded;
}

const text = (encoded: UpstreamRequest): string => encoded.body.toString();
const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';

test('only the bytes of the model change (JSON-01, JSON-04, JSON-05)', () => {
  const body = `{ "model" : "gpt-test","seed":9007199254740993, "metadata":{"t":12345678901234567890,"pi":3.141592653589793238,"e":1E400,"one":1.0},"user":"u\\u00e9",${MESSAGES},"stop":null,"chat_template_kwargs":{"enable_thinking":false}}`;
  assert.equal(text(encode(body)), body.replace('"gpt-test"', '"served/a-much-longer-name"'));
  assert.equal(text(encode(body, deployment({}, 'gpt-test'))), body);
});

test('path, types and coding', () => {
  const paths = (basePath: string): string[] => [
    encode({ model: 'm', messages: [{ role: 'user', content: 'x' }] }, deployment({}, 'm', basePath)).path,
    encode({ model: 'm', prompt: 'x' }, deployment({}, 'm', basePath), '/v1/completions').path,
    encode({ model: 'm', input: 'x', encoding_format: 'base64' }, deployment({}, 'm', basePath), '/v1/embeddings').path,
  ];
  assert.deepEqual(paths(''), ['/v1/chat/completions', '/v1/completions', '/v1/embeddings']);
  assert.deepEqual(paths('/openai/v1'), ['/chat/completions', '/completions', '/embeddings']);
  assert.deepEqual(encode({ model: 'm', input: 'x' }, deployment(), '/v1/embeddings').headers, [
    ['content-type', 'application/json'],
    ['accept', 'application/json'],
    ['accept-encoding', 'identity'],
  ]);
});

test('a stream that is to be answered whole is asked for whole, without what belongs to streams', () => {
  const whole = (body: string, path = '/v1/chat/completions'): string => {
    const raw = Buffer.from(body);
    const head = { method: 'POST', path, headers: new HeaderList([]) };
    const request = client.parse(head, raw, { jsonDepth: 64, jsonKeys: 25_000 });
    const encoded = backend.encode({ ...request, stream: false }, deployment({}, 'm'));
    assert.deepEqual(encoded.headers[1], ['accept', 'application/json']);
    return text(encoded);
  };
  assert.equal(
    whole(`{"model":"m","stream" : true,"stream_options":{"include_usage":true},${MESSAGES}}`),
    `{"model":"m","stream" : false,${MESSAGES}}`,
  );
  assert.equal(whole(`{"model":"m",${MESSAGES},"stream":true}`), `{"model":"m",${MESSAGES},"stream":false}`);
  const embedding = '{"model":"m","input":"x","stream":true}';
  assert.equal(whole(embedding, '/v1/embeddings'), embedding);
});

test('streams ask for usage, others do not (USE-01, USE-02)', () => {
  const same = deployment({}, 'm');
  assert.equal(text(encode(`{"model":"m",${MESSAGES}}`, same)), `{"model":"m",${MESSAGES}}`);
  const stream = (options: string): string => text(encode(`{"model":"m",${MESSAGES},"stream":true${options}}`, same));
  assert.equal(stream(''), `{"model":"m",${MESSAGES},"stream":true,"stream_options":{"include_usage":true}}`);
  assert.equal(
    stream(',"stream_options":{"include_usage":false, "continuous_usage_stats":false}'),
    `{"model":"m",${MESSAGES},"stream":true,"stream_options":{"include_usage":true, "continuous_usage_stats":false}}`,
  );
  assert.equal(
    stream(',"stream_options":{ "a":1}'),
    `{"model":"m",${MESSAGES},"stream":true,"stream_options":{ "a":1,"include_usage":true}}`,
  );
  assert.equal(
    stream(',"stream_options":null'),
    `{"model":"m",${MESSAGES},"stream":true,"stream_options":{"include_usage":true}}`,
  );
  assert.equal(
    stream(',"stream_options":{}'),
    `{"model":"m",${MESSAGES},"stream":true,"stream_options":{"include_usage":true}}`,
  );
  assert.ok(stream(',"stream_options":{"include_usage":true}').endsWith('"stream_options":{"include_usage":true}}'));
  assert.equal(
    text(encode(` \n{"model":"m",${MESSAGES},"stream":true } \n`, same)),
    ` \n{"model":"m",${MESSAGES},"stream":true ,"stream_options":{"include_usage":true}} \n`,
  );
});

test('response_format goes to every server as it came (SO-01)', () => {
  const format =
    '"response_format":{"type":"json_schema","json_schema":{"name":"f","strict":true,"schema":{"type":"object"}}}';
  for (const options of [{}, { version: '0.24.0' }, { server: 'vllm' }]) {
    assert.equal(
      text(encode(`{"model":"m",${MESSAGES},${format}}`, deployment(options, 'm'))),
      `{"model":"m",${MESSAGES},${format}}`,
    );
  }
});

test('guided fields become structured_outputs where vLLM would ignore them (SO-02)', () => {
  const body = `{"model":"m","guided_json":{"type": "object","n":1.0},${MESSAGES}}`;
  for (const options of [{ version: '0.24.0' }, { version: '1.0' }, { server: 'vllm' }]) {
    assert.equal(
      text(encode(body, deployment(options, 'm'))),
      `{"model":"m",${MESSAGES},"structured_outputs":{"json":{"type": "object","n":1.0}}}`,
    );
  }
  for (const options of [{ version: '0.10.2' }, {}]) assert.equal(text(encode(body, deployment(options, 'm'))), body);
  assert.equal(
    text(
      encode(
        `{"guided_regex":"a+","model":"m",${MESSAGES},"guided_whitespace_pattern":" ","guided_choice":null}`,
        deployment({ server: 'vllm' }, 'm'),
      ),
    ),
    `{"model":"m",${MESSAGES},"structured_outputs":{"regex":"a+","whitespace_pattern":" "}}`,
  );
  const both = `{"model":"m",${MESSAGES},"guided_json":{},"structured_outputs":{"json":{}}}`;
  assert.throws(() => encode(both, deployment({ server: 'vllm' })), {
    code: 'unsupported_parameter',
    param: 'guided_json',
  });
  const engine = `{"model":"m",${MESSAGES},"guided_decoding_backend":"outlines"}`;
  assert.throws(() => encode(engine, deployment({ version: '0.12.0' })), {
    code: 'unsupported_parameter',
    param: 'guided_decoding_backend',
  });
});

test('what goes on means what came in, but for the intended change (P27)', () => {
  const extra = fc.dictionary(
    fc.string({ unit: 'grapheme' }).filter((key) => !key.includes('\\')),
    fc.jsonValue({ maxDepth: 3 }),
    { maxKeys: 4 },
  );
  fc.assert(
    fc.property(
      extra,
      fc.boolean(),
      fc.nat({ max: 3 }),
      fc.string({ unit: 'grapheme' }),
      (more, stream, gap, content) => {
        const body: Record<string, unknown> = { x: more, model: 'm', messages: [{ role: 'user', content }], stream };
        const encoded = JSON.parse(text(encode(JSON.stringify(body, null, gap)))) as object;
        const expected = JSON.parse(JSON.stringify({ ...body, model: 'served/a-much-longer-name' })) as Record<
          string,
          unknown
        >;
        if (stream) expected['stream_options'] = { include_usage: true };
        assert.deepEqual(encoded, expected);
      },
    ),
    { numRuns: 2000 },
  );
});
