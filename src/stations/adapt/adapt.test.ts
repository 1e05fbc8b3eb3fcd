import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ChatRequest } from '../../core/chat-request.ts';
import type { RequestContext } from '../../core/context.ts';
import type { BackendDialect, DecodeContext } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList, type HeaderPair } from '../../core/http.ts';
import type { Backend, Deployment, Snapshot } from '../../core/snapshot.ts';
import type { Attempt } from '../../core/station.ts';
import { createAdapt } from './adapt.ts';

const decoded: DecodeContext[] = [];
const dialect: BackendDialect = {
  name: 'fake',
  encode: (request, { upstreamModel }) => ({
    path: '/chat/completions',
    headers: [['accept', request.stream ? 'text/event-stream' : 'application/json']],
    body: Buffer.from(`${upstreamModel}:${request.raw.toString()}`),
  }),
  decoder: (_head, context) => {
    decoded.push(context);
    return { push: () => [], end: () => [] };
  },
};
const adapt = createAdapt({ dialects: new Map([['fake', dialect]]) });

function backendOf(over: Partial<Backend> = {}): Backend {
  return {
    name: 'b',
    dialect: 'fake',
    endpoints: [{ host: 'b.test', port: 443, weight: 1 }],
    basePath: '',
    tls: true,
    http2: false,
    health: null,
    credentials: [],
    headers: [],
    options: {},
    ...over,
  };
}

const attemptAt = (backend: Backend, number = 1): Attempt => ({
  number,
  last: true,
  candidate: {
    reason: 'explicit',
    deployment: { id: `m@${backend.name}`, model: 'served', upstreamModel: 'up', backend } as Deployment,
  },
});

function contextOf(
  backends: readonly Backend[],
  responses: Snapshot['responses']['model'] = 'requested',
): RequestContext {
  return {
    id: '12-0123456789abcdef01234567',
    endpoint: 'chat',
    time: 1_700_000_000_999,
    request: { model: 'asked', stream: true, raw: Buffer.from('{"model":"asked"}') } as ChatRequest,
    config: {
      backends: new Map(backends.map((backend) => [backend.name, backend])),
      limits: { eventBytes: 11, responseBytes: 22 },
      responses: { model: responses },
    },
  } as unknown as RequestContext;
}

const headOf = (headers: readonly HeaderPair[] = []) => ({
  method: 'POST',
  path: '/',
  headers: new HeaderList(headers),
});

/** The head that a backend would read: what was there, without what is removed, with what is set. */
function sendTo(backend: Backend, head: readonly HeaderPair[], all: readonly Backend[] = [backend]) {
  const { mutation, body, watch } = adapt.request(contextOf(all), attemptAt(backend), headOf(head), 'head');
  const { set = [], remove = [], metadata } = mutation;
  assert.deepEqual(
    set.filter(([name]) => remove.includes(name)),
    [],
    'nothing is set and removed at once',
  );
  assert.equal(new Set(set.map(([name]) => name)).size, set.length, 'nothing is set twice');
  const sent = new Map(head.filter(([name]) => !remove.includes(name)));
  for (const [name, value] of set) sent.set(name, value);
  return { sent, set: new Map(set), remove, metadata, body, watch };
}

test("a try says where it goes, in the backend's words", () => {
  const { set, body, watch, metadata } = sendTo(backendOf({ basePath: '/v1', headers: [['x-team', 'blue']] }), []);
  assert.deepEqual(Object.fromEntries(set), {
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    ':authority': 'b.test',
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    accept: 'text/event-stream',
    'x-team': 'blue',
  });
  assert.equal(body.toString(), 'up:{"model":"asked"}');
  assert.equal(watch, 'head');
  assert.deepEqual(metadata, { 'tokenlat.attempt': { content_length: String(body.length) } });
});

test('under high load a stream is asked for and read as a whole answer', () => {
  const ctx = { ...contextOf([]), surge: { level: 3, divert: null, reduced: null, buffered: true } };
  const attempt = attemptAt(backendOf());
  const { mutation } = adapt.request(ctx, attempt, headOf(), 'head');
  assert.equal(new Map(mutation.set).get('accept'), 'application/json');
  adapt.decoder(ctx, attempt, { status: 200, headers: new HeaderList([]) });
  assert.equal(decoded.at(-1)?.request.stream, false);
  assert.equal(ctx.request.stream, true, "the client's wish stays");
});

test('the authority has a port where it is not the usual one, and brackets where it must', () => {
  const cases: readonly (readonly [string, number, boolean, string])[] = [
    ['h', 443, true, 'h'],
    ['h', 80, true, 'h:80'],
    ['h', 80, false, 'h'],
    ['h', 443, false, 'h:443'],
    ['h', 8000, false, 'h:8000'],
    ['::1', 80, false, '[::1]'],
    ['2001:db8::2', 8443, true, '[2001:db8::2]:8443'],
    ['10.0.0.1', 8000, false, '10.0.0.1:8000'],
  ];
  for (const [host, port, tls, authority] of cases) {
    const { set } = sendTo(backendOf({ endpoints: [{ host, port, weight: 1 }], tls }), []);
    assert.equal(set.get(':authority'), authority);
  }
  assert.equal(sendTo(backendOf({ endpoints: [] }), []).set.get(':authority'), 'b');
});

test('nothing that a client sends for us, nor any of its secrets, reaches a backend', () => {
  const secret: readonly HeaderPair[] = [
    ['authorization', 'Bearer client'],
    ['proxy-authorization', 'Basic client'],
    ['x-api-key', 'client'],
    ['api-key', 'client'],
    ['x-goog-api-key', 'client'],
    ['cookie', 'client'],
    ['x-tokenlat-watch', 'body'],
    ['x-tokenlat-anything', 'x'],
    ['x-envoy-max-retries', '9'],
    ['x-envoy-upstream-rq-timeout-ms', '9'],
    ['x-forwarded-for', '10.1.1.1'],
    ['x-forwarded-client-cert', 'x'],
    ['x-real-ip', '10.1.1.1'],
    ['x-gateway-destination-endpoint', '10.1.1.1:80'],
    ['x-gateway-destination-endpoint-subset', '10.1.1.1:80'],
    ['x-request-priority', 'batch'],
    ['prefer', 'wait=1'],
    ['grpc-timeout', '1n'],
    ['x-business-line', 'secret'],
    ['x-request-timeout-ms', '9'],
    ['content-encoding', 'gzip'],
    ['expect', '100-continue'],
    ['te', 'trailers'],
  ];
  const { sent } = sendTo(backendOf(), [
    ...secret,
    ['user-agent', 'sdk'],
    ['openai-beta', 'x'],
    ['x-request-id', 'mine'],
  ]);
  for (const [name] of secret) assert.equal(sent.has(name), false, name);
  assert.deepEqual([sent.get('user-agent'), sent.get('openai-beta'), sent.get('x-request-id')], ['sdk', 'x', 'mine']);
});

test("a backend's credential takes the place of the client's", () => {
  const backend = backendOf({ credentials: [['authorization', 'Bearer ours']], headers: [['x-api-key', 'ours']] });
  const { sent, remove } = sendTo(backend, [
    ['authorization', 'Bearer client'],
    ['x-api-key', 'client'],
  ]);
  assert.deepEqual([sent.get('authorization'), sent.get('x-api-key')], ['Bearer ours', 'ours']);
  assert.ok(!remove.includes('authorization'));
});

test('a try carries nothing that an earlier one brought along, whatever the backends set', () => {
  const name = fc.constantFrom(
    'authorization',
    'x-api-key',
    'api-key',
    'x-one',
    'x-two',
    'accept',
    'content-type',
    'openai-project',
  );
  const pairs = (mark: string) =>
    fc.uniqueArray(name, { maxLength: 4 }).map((all) => all.map((each) => [each, mark] as const));
  const pair = fc.tuple(pairs('key of a'), pairs('team of a'), pairs('key of b'), pairs('team of b'));
  fc.assert(
    fc.property(pair, ([keyA, teamA, keyB, teamB]) => {
      const a = backendOf({ name: 'a', credentials: keyA, headers: teamA });
      const b = backendOf({ name: 'b', credentials: keyB, headers: teamB });
      const first = sendTo(
        a,
        [
          ['authorization', 'client'],
          ['user-agent', 'sdk'],
        ],
        [a, b],
      ).sent;
      const second = sendTo(b, [...first], [a, b]).sent;
      for (const [header, value] of second) assert.doesNotMatch(value, /of a|client/, header);
      for (const [header] of keyB) assert.equal(second.get(header), 'key of b');
      assert.deepEqual(second, sendTo(b, [['user-agent', 'sdk']], [a, b]).sent, 'as if it were the first');
    }),
  );
});

test('the names to remove belong to one configuration', () => {
  const old = backendOf({ name: 'old', credentials: [['x-old-key', 'k']] });
  const next = backendOf({ name: 'next', credentials: [['x-next-key', 'k']] });
  const plain = backendOf({ name: 'plain' });
  assert.ok(sendTo(plain, [], [plain, old]).remove.includes('x-old-key'));
  const { remove } = sendTo(plain, [], [plain, next]);
  assert.deepEqual([remove.includes('x-old-key'), remove.includes('x-next-key')], [false, true]);
});

test('values are fit for headers', () => {
  const backend = backendOf({ headers: [['x-odd', 'a\r\nb: c']], credentials: [['authorization', 'Bearer ü\0']] });
  for (const [, value] of sendTo(backend, []).set) assert.match(value, /^[\x20-\x7e]*$/);
});

test('an answer is read with what its try knows', () => {
  const ctx = contextOf([], 'requested');
  adapt.decoder(ctx, attemptAt(backendOf()), { status: 200, headers: new HeaderList([]) });
  const context = decoded.at(-1);
  assert.equal(context?.request, ctx.request);
  assert.deepEqual(
    [context?.modelShown, context?.answerId, context?.created, context?.maxEventBytes, context?.maxAnswerBytes],
    ['asked', 'chatcmpl-120123456789abcdef01234567', 1_700_000_000, 11, 22],
  );
});

test('the model shown is the one that the configuration names', () => {
  const shown = (which: Snapshot['responses']['model']) =>
    adapt.identity(contextOf([], which), attemptAt(backendOf())).model;
  assert.deepEqual([shown('requested'), shown('served'), shown('upstream')], ['asked', 'served', 'up']);
});

test('completions have ids of their own kind', () => {
  const ctx = { ...contextOf([]), endpoint: 'completions' as const };
  assert.match(adapt.identity(ctx, attemptAt(backendOf())).id, /^cmpl-[0-9a-f]+$/);
});

test('a backend of a dialect that this build lacks is a fault of ours', () => {
  const backend = backendOf({ dialect: 'other' });
  const isFault = (error: unknown) => error instanceof GatewayError && error.code === 'internal_error';
  assert.throws(() => adapt.request(contextOf([]), attemptAt(backend), headOf(), 'none'), isFault);
  assert.throws(
    () => adapt.decoder(contextOf([]), attemptAt(backend), { status: 200, headers: new HeaderList([]) }),
    isFault,
  );
});

test('the station notes each try', async () => {
  const note = await adapt.station.attempt?.(contextOf([]), attemptAt(backendOf(), 2));
  assert.deepEqual(note, { decision: 'openai→fake', reason: 'attempt 2: up on b' });
});
