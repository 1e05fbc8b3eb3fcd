import {
  ALPHA,
  answer,
  BOOKED_AS_ERROR,
  chat,
  ENDS,
  fails,
  is,
  json,
  type Kin,
  kin,
  OK,
  says,
  sse,
  status,
  streamed,
  TWO,
} from './kin.ts';

const GOOD = json(answer());
const error = (message: string, type = 'server_error'): string => JSON.stringify({ error: { message, type } });

/** What model services say when they cannot serve. */
export const ERROR_KIN: readonly Kin[] = [
  kin('detail as a text', chat(), json('{"detail":"Not Found"}', 404), [...fails(404, 502)]),
  kin(
    'detail as a list',
    chat(),
    json('{"detail":[{"loc":["body","temperature"],"msg":"must be a number","type":"x"}]}', 422),
    [...fails(422, 400), is('client.body.error.message', 'contains', 'must be a number')],
  ),
  kin(
    'error of older vLLM',
    chat(),
    json('{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}', 400),
    [...fails(400), is('client.body.error.message', 'contains', 'too long')],
  ),
  kin('error as a text', chat(), json('{"error":"model not loaded"}', 500), [...fails(500, 502, 503)]),
  kin('our key is refused', chat(), json(error('Incorrect API key provided: sk-provider-secret', 'x'), 401), [
    ...fails(502),
    is('client.raw', 'not_contains', 'sk-provider'),
    is('client.headers.x-original-error', 'not_contains', 'sk-provider'),
  ]),
  kin('429 as JSON', chat(), json(error('slow', 'rate_limit_error'), 429, { 'retry-after': '7' }), [
    ...fails(429),
    is('client.headers.retry-after', 'eq', '7'),
  ]),
  kin(
    '429 as text',
    chat(),
    { status: 429, headers: { 'content-type': 'text/plain', 'retry-after': '7' }, chunks: ['slow down'] },
    [...fails(429), is('client.headers.retry-after', 'eq', '7')],
  ),
  kin('529', chat(), json(error('overloaded', 'overloaded_error'), 529), [...fails(529, 503)]),
  kin('closed without an answer', chat(), { close_after_request: 'fin' }, [
    ...fails(502, 503),
    is('upstream.count', 'eq', 1),
  ]),
  kin('reset without an answer', chat(), { close_after_request: 'rst' }, [...fails(502, 503)]),
  kin(
    'reset in a whole answer',
    chat(),
    {
      status: 200,
      headers: { 'content-type': 'application/json' },
      chunks: ['{"id":', { delay_ms: 50 }, { abort: true }],
    },
    [...fails(502, 503)],
  ),
  kin(
    'shorter than its length',
    chat(),
    {
      status: 200,
      headers: { 'content-type': 'application/json', 'content-length': '500' },
      chunks: ['{"id":', { delay_ms: 50 }, { close: true }],
    },
    [...fails(502, 503)],
  ),
  kin('half a JSON text', chat(), json(answer().slice(0, 50)), [...fails(502)]),
  kin('no body', chat(), json(''), [...fails(502)]),
  kin('no body, another backend', chat(), { A: json(''), B: GOOD }, [OK], TWO),
  kin('a list', chat(), json('[]'), [...fails(502)]),
  kin('204', chat(), { status: 204, headers: {}, chunks: [] }, [...fails(502)]),
  kin('a redirect', chat(), { status: 307, headers: { location: 'http://169.254.169.254/' }, chunks: [] }, [
    ...fails(502),
    is('client.headers.location', 'absent'),
  ]),
  kin('200 with an error', chat(), json(error('boom')), [...fails(500, 502, 503), BOOKED_AS_ERROR]),
  kin(
    'coded without being asked',
    chat(),
    {
      status: 200,
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      chunks: [{ base64: 'H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==' }],
    },
    [...fails(502)],
  ),
  kin(
    'HTML 500 to one who wants a stream',
    streamed(),
    { status: 500, headers: { 'content-type': 'text/html' }, chunks: ['<html>x</html>'] },
    [...fails(500, 502), is('client.raw', 'not_contains', '<html')],
  ),
  kin(
    'above the limit',
    chat(),
    {
      status: 200,
      headers: { 'content-type': 'application/json' },
      chunks: ['{"x":"', { repeat: ['B', 34 * 1024 * 1024], split_every: 65_536 }, '"}'],
    },
    [...fails(502)],
  ),
  kin(
    'all backends fail',
    chat(),
    { A: json(error('a'), 503), B: json(error('b'), 500) },
    [
      ...fails(500, 502, 503),
      is('upstream.backends', 'deep_eq', ['A', 'B']),
      is('ledger.count', 'eq', 1),
      BOOKED_AS_ERROR,
    ],
    TWO,
  ),
  kin(
    'reset, another backend',
    chat(),
    { A: { close_after_request: 'rst' }, B: GOOD },
    [OK, is('upstream.count_for.A', 'eq', 1)],
    TWO,
  ),
  kin(
    '400 stays here',
    streamed(),
    { A: json(error('bad', 'invalid_request_error'), 400), B: sse(...ALPHA) },
    [status(400), is('upstream.count_for.B', 'eq', 0)],
    TWO,
  ),
  kin(
    '503, then a stream',
    streamed(),
    { A: json(error('busy'), 503), B: sse(...ALPHA) },
    [...says('Alpha'), ENDS],
    TWO,
  ),
];
