import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { before, test } from 'node:test';
import { startDemoOpenAi } from '../../scripts/demo/model-servers/demo-openai-server.ts';
import { startDemoVllm } from '../../scripts/demo/model-servers/demo-vllm-server.ts';
import { pythonPackages } from '../support/python-packages.ts';
import { useGateway } from '../support/use-gateway.ts';
import { expiredToken } from './expired-token.ts';

type Result = Readonly<Record<string, unknown>>;

const REQUIREMENTS = path.join(import.meta.dirname, 'requirements.txt');
const COUNTED = '1 2 3 4 5 6 7 8 9 10 11 12';

const packages = pythonPackages('openai', REQUIREMENTS);
const [demoOpenAi, demoVllm] = await Promise.all([startDemoOpenAi(), startDemoVllm()]);
const profile = { default_max_tokens: 200, context: 8192 };
/** The demo server takes its fault from the model's name. */
const faulty = (name: string, model: string) => ({ name, deployments: [{ backend: 'openai', model, profile }] });
const { gateway } = await useGateway({
  config: () => ({
    backends: [
      { name: 'openai', endpoints: [{ url: `${demoOpenAi.url}/v1` }] },
      { name: 'vllm', dialect: 'vllm-generate', endpoints: [{ url: demoVllm.url }] },
    ],
    models: [
      { name: 'chat', deployments: [{ backend: 'openai', profile }] },
      { name: 'llama', deployments: [{ backend: 'vllm', chat_template: 'llama3', profile }] },
      faulty('fails', 'fail-500'),
      faulty('hangs', 'hang'),
      faulty('stalls', 'hang-after-3'),
      faulty('breaks', 'error-in-stream-3'),
    ],
    tenants: [{ name: 'once', limits: { requests_per_minute: 1 } }],
    retry: { retries: 0 },
  }),
  servers: [demoOpenAi, demoVllm],
});
let results: ReadonlyMap<string, Result>;
before(async () => void (results = await runPython(packages)), { timeout: 240_000 });

for (const model of ['chat', 'llama']) {
  test(`${model}: plain`, () => {
    const { text, finish, model: shown, total, sum, request_id: id } = resultOf(`plain ${model}`);
    assert.deepEqual({ text, finish, shown, total }, { text: COUNTED, finish: 'stop', shown: model, total: sum });
    assert.match(String(id), /^[\w-]{20,}$/);
  });
  test(`${model}: stream with usage`, () => {
    const { text, finish, ids, usage, chunks } = resultOf(`stream ${model}`);
    assert.deepEqual({ text, finish, ids }, { text: COUNTED, finish: ['stop'], ids: 1 });
    assert.ok(Number(usage) > 0 && Number(chunks) > 5);
  });
  test(`${model}: async stream, JSON mode, n = 2, completions`, () => {
    assert.equal(resultOf(`async stream ${model}`)['text'], COUNTED);
    assert.equal(resultOf(`json ${model}`)['type'], 'dict');
    assert.deepEqual(resultOf(`n ${model}`)['texts'], [COUNTED, `${COUNTED} (choice 2)`]);
    const { text, stream } = resultOf(`completions ${model}`);
    assert.deepEqual([text, stream], ['1 2 3', '1 2 3']);
  });
}

test('tools, also as a stream', () => {
  const whole = resultOf('tools');
  assert.deepEqual(
    [whole['finish'], whole['name'], whole['arguments']],
    ['tool_calls', 'get_weather', { city: 'Paris' }],
  );
  const streamed = resultOf('tools stream');
  assert.deepEqual([streamed['finish'], streamed['arguments']], ['tool_calls', { city: 'Paris' }]);
});

test('embeddings, models, headers', () => {
  const { size, equal } = resultOf('embeddings');
  assert.deepEqual([size, equal], [8, true]);
  const { ids, one } = resultOf('models');
  assert.deepEqual([ids, one], [['breaks', 'chat', 'fails', 'hangs', 'llama', 'stalls'], 'llama']);
  const headers = resultOf('headers');
  assert.equal(headers['x-tokenlat-model'], 'chat');
  assert.equal(headers['x-tokenlat-attempts'], '1');
  assert.ok(headers['x-request-id']);
});

const ERRORS: readonly (readonly [name: string, expected: Result])[] = [
  ['bad token', { class: 'AuthenticationError', status: 401, code: 'invalid_credentials' }],
  ['expired token', { class: 'AuthenticationError', status: 401, code: 'expired_credentials' }],
  ['not allowed', { class: 'PermissionDeniedError', status: 403, code: 'model_not_allowed', param: 'model' }],
  ['no such model', { class: 'NotFoundError', status: 404, code: 'model_not_found', param: 'model' }],
  ['bad request', { class: 'BadRequestError', status: 400, param: 'messages', type: 'invalid_request_error' }],
  ['bad value', { class: 'BadRequestError', status: 400, code: 'invalid_value', param: 'temperature' }],
  ['server error', { class: 'InternalServerError', status: 500 }],
  ['rate limit', { class: 'RateLimitError', status: 429, code: 'rate_limit_exceeded' }],
  ['error in a stream', { class: 'APIError', text: '1 2 3' }],
  ['timeout', { class: 'APITimeoutError', quick: true }],
  ['deadline', { class: 'InternalServerError', status: 504, code: 'upstream_timeout' }],
];
for (const [name, expected] of ERRORS) {
  test(name, () => {
    const result = resultOf(name);
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, result[key]])), expected);
    if (result['status'] !== null && result['status'] !== undefined) assert.ok(result['request_id'], 'no request id');
    if (name === 'rate limit') assert.ok(Number(result['retry_after']) >= 1);
  });
}

test('leaving a stream stops the model', () => {
  assert.equal(resultOf('abort')['words'], 3);
  assert.ok(demoOpenAi.stats().aborted >= 1, 'the model went on');
});

function resultOf(name: string): Result {
  const result = results.get(name);
  assert.ok(result !== undefined, `the script never came to '${name}'`);
  assert.equal(result['failed'], undefined);
  return result;
}

async function runPython(packages: string): Promise<ReadonlyMap<string, Result>> {
  const child = spawn('python3', [path.join(import.meta.dirname, 'openai_sdk.py'), gateway.url], {
    env: { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '127.0.0.1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const tokens = {
    token: await gateway.token(),
    narrow: await gateway.token({ models: ['chat'] }),
    once: await gateway.token({ tenant: 'once' }),
    expired: await expiredToken(),
  };
  child.stdin.end(JSON.stringify(tokens));
  let output = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const status = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(status, 0, complaints);
  return new Map(
    output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Result)
      .map((result) => [String(result['case']), result]),
  );
}
