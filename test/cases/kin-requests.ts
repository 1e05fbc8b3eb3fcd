import {
  answer,
  chat,
  ENDS,
  event,
  fails,
  HEADERS,
  is,
  json,
  type Kin,
  kin,
  NOT_SENT,
  OK,
  raw,
  sse,
  status,
} from './kin.ts';

const GOOD = json(answer());
const hidden = (name: string) => is(`upstream[0].headers.${name}`, 'absent');
const question = (extra = ''): string => `{"model":"gpt-test","messages":[{"role":"user","content":"x"}]${extra}}`;

/** What clients send. */
export const REQUEST_KIN: readonly Kin[] = [
  kin('coded body', raw('xxxx', '/v1/chat/completions', { 'content-encoding': 'gzip' }), GOOD, [
    ...fails(415),
    NOT_SENT,
  ]),
  kin('unknown path', raw('{}', '/v1/nothing'), GOOD, [...fails(404), NOT_SENT]),
  kin('slash at the end', raw('{}', '/v1/chat/completions/'), GOOD, [...fails(404, 400), NOT_SENT]),
  kin('a query', raw(question(), '/v1/chat/completions?api-version=2024'), GOOD, [OK]),
  kin(
    'token in the query',
    {
      method: 'POST',
      path: '/v1/chat/completions?key=${good_token}',
      headers: { 'content-type': 'application/json' },
      body: {},
    },
    GOOD,
    [...fails(401), NOT_SENT],
  ),
  kin('GET on chat', { method: 'GET', path: '/v1/chat/completions', headers: HEADERS }, GOOD, [...fails(405)]),
  kin('unknown model', chat({ model: 'nope' }), GOOD, [
    ...fails(404),
    is('client.body.error.code', 'eq', 'model_not_found'),
  ]),
  kin('model with a line break', chat({ model: 'a\r\nx: y' }), GOOD, [...fails(404, 400), NOT_SENT]),
  kin('very long model', chat({ model: 'm'.repeat(100_000) }), GOOD, [...fails(404, 400), NOT_SENT]),
  kin('a key twice', raw('{"model":"gpt-test","model":"other","messages":[{"role":"user","content":"x"}]}'), GOOD, [
    ...fails(400),
    NOT_SENT,
  ]),
  kin(
    'a key twice, escaped',
    raw('{"model":"gpt-test","\\u006dodel":"other","messages":[{"role":"user","content":"x"}]}'),
    GOOD,
    [...fails(400), NOT_SENT],
  ),
  kin('stream as a text', chat({ stream: 'true' }), GOOD, [...fails(400), NOT_SENT]),
  kin('messages as a text', chat({ messages: 'hi' }), GOOD, [...fails(400), NOT_SENT]),
  kin('no choice asked for', chat({ n: 0 }), GOOD, [...fails(400), NOT_SENT]),
  kin('null everywhere', chat({ stream: null, n: null, max_tokens: null, tools: null, stream_options: null }), GOOD, [
    OK,
  ]),
  kin(
    'the very same bytes',
    raw(
      ' { "messages" : [ {"role":"user","content":"x\\/y \\u00e9"} ] ,\n"model":"gpt-test", "temperature": 1.0, "seed": -0 } ',
    ),
    GOOD,
    [
      OK,
      is(
        'upstream[0].raw_body',
        'eq',
        ' { "messages" : [ {"role":"user","content":"x\\/y \\u00e9"} ] ,\n"model":"gpt-test", "temperature": 1.0, "seed": -0 } ',
      ),
    ],
  ),
  kin('two lengths', chat({}, { 'content-length': '5', 'Content-Length': '6' }), GOOD, [status(400), NOT_SENT]),
  kin(
    'a length and pieces',
    raw('0\r\n\r\n', '/v1/chat/completions', { 'transfer-encoding': 'chunked', 'content-length': '5' }),
    GOOD,
    [status(400), NOT_SENT],
  ),
  kin(
    "the proxy's own headers",
    chat(
      {},
      {
        'x-tokenlat-tenant': 'evil',
        'x-envoy-retry-on': '5xx',
        'x-envoy-max-retries': '9',
        'x-envoy-original-dst-host': '169.254.169.254:80',
      },
    ),
    GOOD,
    [OK, hidden('x-tokenlat-tenant'), hidden('x-envoy-original-dst-host'), is('upstream.count', 'eq', 1)],
  ),
  kin(
    'headers of the hop',
    chat({}, { te: 'trailers', connection: 'te, close', expect: '100-continue', 'accept-encoding': 'gzip, br' }),
    GOOD,
    [OK, hidden('te'), hidden('expect'), is('upstream[0].headers.accept-encoding', 'eq', 'identity')],
  ),
  kin('an id that is none', chat({}, { 'x-request-id': 'a b"<script>' }), GOOD, [
    OK,
    is('client.headers.x-request-id', 'not_contains', '<'),
  ]),
  kin("the backend's own headers", chat(), json(answer(), 200, { 'set-cookie': 'a=b', 'x-internal-host': 'h1' }), [
    OK,
    is('client.headers.set-cookie', 'absent'),
    is('client.headers.x-internal-host', 'absent'),
  ]),
  kin('models', { method: 'GET', path: '/v1/models', headers: HEADERS }, GOOD, [
    OK,
    is('client.body.data[*].id', 'set_eq', ['gpt-test']),
  ]),
  kin(
    'embeddings of tokens',
    raw('{"model":"gpt-test","input":[[1,2,3],[4]]}', '/v1/embeddings'),
    json(
      '{"object":"list","model":"gpt-test","data":[{"object":"embedding","index":0,"embedding":[1.0,1e-7,-0]}],"usage":{"prompt_tokens":4,"total_tokens":4}}',
    ),
    [OK, is('client.raw', 'contains', '[1.0,1e-7,-0]'), is('ledger[0].input_tokens', 'eq', 4)],
  ),
  kin(
    'completions',
    raw('{"model":"gpt-test","prompt":["a","b"],"stream":true}', '/v1/completions'),
    sse(
      event(
        '{"id":"x","object":"text_completion","created":1,"model":"gpt-test","choices":[{"index":0,"text":"hi","finish_reason":"stop"},{"index":1,"text":"yo","finish_reason":"stop"}]}',
      ),
      event('[DONE]'),
    ),
    [OK, ENDS],
  ),
];
