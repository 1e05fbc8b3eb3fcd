import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { frame } from '../../../test/support/raw-grpc-frames.ts';
import { anyMethod, type Call, type CallListener, type GrpcServerOptions, STATUS } from './call.ts';
import { createGrpcJsServer } from './grpc-js-server.ts';
import { createLeanServer } from './lean-server.ts';

interface Reply {
  readonly headers: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Seen {
  readonly events: string[];
  readonly calls: Call<Buffer>[];
}

/** A method that answers each message with itself, and notes what it hears. */
function echo(seen: Seen, change: (call: Call<Buffer>) => Partial<CallListener<Buffer>> = () => ({})) {
  return anyMethod<Buffer, Buffer>({
    path: '/test.Echo/Call',
    decode: (bytes) => bytes,
    encode: (bytes) => bytes,
    serve(call) {
      seen.calls.push(call);
      return {
        onMessage(message) {
          seen.events.push(`message ${message.length}`);
          call.write(message);
        },
        onEnd() {
          seen.events.push('end');
          call.end(0, '');
        },
        onDrain: () => {},
        onClose: () => void seen.events.push('close'),
        ...change(call),
      };
    },
  });
}

async function serve(
  make: typeof createLeanServer,
  change?: Parameters<typeof echo>[1],
  options: Partial<GrpcServerOptions> = {},
) {
  const seen: Seen = { events: [], calls: [] };
  const server = make({
    bind: { kind: 'tcp', address: '127.0.0.1', port: 0, tls: null },
    methods: [echo(seen, change)],
    messageBytes: 1 << 20,
    streams: 100,
    onFault: (reason) => {
      throw reason;
    },
    ...options,
  });
  const session = http2.connect(`http://127.0.0.1:${await server.start()}`);
  session.on('error', () => {});
  return { seen, server, session };
}

function open(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders = {}): http2.ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/test.Echo/Call',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {});
  return stream;
}

async function replyOf(stream: http2.ClientHttp2Stream): Promise<Reply> {
  let headers: http2.IncomingHttpHeaders = {};
  let trailers: http2.IncomingHttpHeaders = {};
  const body: Buffer[] = [];
  stream.on('response', (fields) => (headers = fields));
  stream.on('trailers', (fields) => (trailers = fields));
  stream.on('data', (bytes: Buffer) => body.push(bytes));
  stream.on('end', () => stream.end());
  await once(stream, 'close');
  return { headers, trailers, body: Buffer.concat(body) };
}

for (const [name, make] of [
  ['lean', createLeanServer],
  ['grpc-js', createGrpcJsServer],
] as const) {
  test(`${name}: messages both ways, in order, and a status behind them`, async () => {
    const { seen, server, session } = await serve(make);
    const stream = open(session);
    const sent = [0, 1, 100, 70_000, 300_000, 5].map((size, index) => frame(Buffer.alloc(size, index)));
    const reply = replyOf(stream);
    for (const one of sent) stream.write(one);
    stream.end();
    const { headers, trailers, body } = await reply;
    assert.equal(headers[':status'], 200);
    assert.match(String(headers['content-type']), /^application\/grpc/);
    assert.deepEqual(body, Buffer.concat(sent));
    assert.equal(trailers['grpc-status'], '0');
    for (let i = 0; i < 100 && seen.events.at(-1) !== 'close'; i++) await sleep(5);
    assert.deepEqual(seen.events.slice(-2), ['end', 'close']);
    session.close();
    await server.close();
  });

  test(`${name}: an end without messages is one block, and its text arrives as it is`, async () => {
    const details = 'not so: 100 % ä\n~';
    const { server, session } = await serve(make, (call) => ({ onMessage: () => call.end(9, details) }));
    const stream = open(session);
    stream.write(frame(Buffer.from('x')));
    const { headers } = await replyOf(stream);
    assert.equal(headers['grpc-status'], '9');
    assert.equal(decodeURIComponent(String(headers['grpc-message'])), details);
    session.close();
    await server.close();
  });

  test(`${name}: an end while the peer still speaks ends the call`, async () => {
    const { seen, server, session } = await serve(make, (call) => ({
      onMessage: (message) => {
        call.write(message);
        call.end(0, '');
        call.write(message);
        call.end(13, 'twice');
      },
    }));
    const stream = open(session);
    stream.write(frame(Buffer.from('x')));
    const { trailers, body } = await replyOf(stream);
    assert.deepEqual(body, frame(Buffer.from('x')));
    assert.equal(trailers['grpc-status'], '0');
    for (let i = 0; i < 100 && seen.events.length === 0; i++) await sleep(5);
    assert.deepEqual(seen.events, ['close']);
    session.close();
    await server.close();
  });

  test(`${name}: what is no call of ours is refused by the right status`, async () => {
    const { seen, server, session } = await serve(make);
    const cases: readonly (readonly [http2.OutgoingHttpHeaders, Buffer, string, string])[] = [
      [{ ':path': '/test.Echo/Other' }, frame(Buffer.from('x')), 'grpc-status', '12'],
      [{ ':path': '/__proto__' }, frame(Buffer.from('x')), 'grpc-status', '12'],
      [{ 'content-type': 'text/plain' }, frame(Buffer.from('x')), ':status', '415'],
      [{ 'content-type': 'application/grpcx' }, frame(Buffer.from('x')), ':status', '415'],
      [{}, frame(Buffer.alloc(10), 0, 2_000_000), 'grpc-status', '8'],
      [{ 'grpc-timeout': '1x' }, frame(Buffer.from('x')), 'grpc-status', '13'],
    ];
    for (const [headers, body, field, wanted] of cases) {
      // grpc-js takes any type that begins as gRPC's does.
      if (name === 'grpc-js' && headers['content-type'] === 'application/grpcx') continue;
      const stream = open(session, headers);
      stream.end(body);
      const reply = await replyOf(stream);
      assert.equal(String({ ...reply.headers, ...reply.trailers }[field]), wanted, JSON.stringify(headers));
    }
    assert.ok(!seen.events.some((event) => event.startsWith('message')));
    session.close();
    await server.close();
  });

  test(`${name}: a call past its timeout ends, and its listener knows`, async () => {
    const { seen, server, session } = await serve(make);
    const stream = open(session, { 'grpc-timeout': '30m' });
    stream.write(frame(Buffer.from('x')));
    const { headers, trailers } = await replyOf(stream);
    assert.equal({ ...headers, ...trailers }['grpc-status'], '4');
    for (let i = 0; i < 100 && seen.events.length < 2; i++) await sleep(5);
    assert.deepEqual(seen.events, ['message 1', 'close']);
    session.close();
    await server.close();
  });

  test(`${name}: a peer that leaves closes its calls`, async () => {
    const { seen, server, session } = await serve(make);
    const [one, two] = [open(session), open(session)];
    one.write(frame(Buffer.from('x')));
    two.write(frame(Buffer.from('y')));
    for (let i = 0; i < 100 && seen.events.length < 2; i++) await sleep(5);
    const closes = (): number => seen.events.filter((event) => event === 'close').length;
    one.close(http2.constants.NGHTTP2_CANCEL);
    for (let i = 0; i < 100 && closes() < 1; i++) await sleep(5);
    assert.equal(closes(), 1);
    session.destroy();
    for (let i = 0; i < 100 && closes() < 2; i++) await sleep(5);
    assert.equal(closes(), 2);
    await server.close();
  });

  test(`${name}: a call that is paused takes nothing, and everything in order when it goes on`, async () => {
    const got: number[] = [];
    const { seen, server, session } = await serve(make, (call) => ({
      onMessage: (message) => {
        got.push(message[0] ?? -1);
        if (got.length % 3 === 0) call.pause();
      },
      onEnd: () => {
        got.push(1000);
        call.end(0, '');
      },
    }));
    const stream = open(session);
    const reply = replyOf(stream);
    const sent = Array.from({ length: 40 }, (_, index) => index);
    for (const index of sent) stream.write(frame(Buffer.alloc(20_000, index)));
    stream.end();
    for (let i = 0; i < 100 && got.length < 3; i++) await sleep(5);
    await sleep(30);
    assert.deepEqual(got, [0, 1, 2]);
    while (got.length < 41) {
      seen.calls[0]?.resume();
      await sleep(2);
    }
    assert.deepEqual(got, [...sent, 1000]);
    assert.equal((await reply).trailers['grpc-status'] ?? (await reply).headers['grpc-status'], '0');
    session.close();
    await server.close();
  });
}

test('lean: compressed messages are refused, as is a cut one', async () => {
  const { server, session } = await serve(createLeanServer);
  for (const [body, code] of [
    [frame(Buffer.from('x'), 1), '12'],
    [frame(Buffer.from('x'), 3), '13'],
    [frame(Buffer.from('x')).subarray(0, 4), '13'],
    [frame(Buffer.from('xyz')).subarray(0, 7), '13'],
  ] as const) {
    const stream = open(session, { 'grpc-encoding': 'gzip' });
    stream.end(body);
    const { headers, trailers } = await replyOf(stream);
    assert.equal({ ...headers, ...trailers }['grpc-status'], code);
  }
  session.close();
  await server.close();
});

test('lean: a service that throws costs its call, and no other', async () => {
  const faults: unknown[] = [];
  const boom = (): never => {
    throw new Error('secret');
  };
  for (const broken of [{ onMessage: boom }, { onEnd: boom }, { onEnd: boom, onClose: boom }] as const) {
    const { seen, server, session } = await serve(createLeanServer, () => (seen.calls.length === 2 ? broken : {}), {
      onFault: (reason) => faults.push(reason),
    });
    const good = open(session);
    good.write(frame(Buffer.from('x')));
    for (let i = 0; i < 100 && seen.events.length === 0; i++) await sleep(5);
    const bad = open(session);
    bad.end(frame(Buffer.from('y')));
    const { headers, trailers } = await replyOf(bad);
    const { 'grpc-status': status, 'grpc-message': text } = { ...headers, ...trailers };
    assert.deepEqual([status, text], ['13', 'internal error']);
    const reply = replyOf(good);
    good.end(frame(Buffer.from('z')));
    assert.equal((await reply).trailers['grpc-status'], '0');
    session.close();
    await server.close();
  }
  assert.equal(faults.length, 4);
});

test('lean: metadata of any size and kind arrives, through Huffman code and tables', async () => {
  const { seen, server, session } = await serve(createLeanServer);
  const values = ['a', '0123456789abcdef-0000-4000', 'x'.repeat(3000), '~!@#$%^&*(){}|<>', 'b'.repeat(20_000)];
  for (let round = 0; round < 3; round++) {
    for (const value of values) {
      const stream = open(session, { 'tokenlat-id': value });
      stream.end(frame(Buffer.from('x')));
      await replyOf(stream);
      assert.equal(seen.calls.at(-1)?.metadata('tokenlat-id'), value);
      assert.equal(seen.calls.at(-1)?.metadata('x-absent'), '');
    }
  }
  session.close();
  await server.close();
});

test('messages that are not whole have a bound together, and a time in which they must be', async () => {
  const unfinished = { bytes: 300_000, ms: 1500 };
  const { server, session } = await serve(createLeanServer, undefined, { unfinished });
  const cut = (): Promise<Reply> => {
    const stream = open(session);
    stream.write(frame(Buffer.alloc(100_000), 0, 900_000));
    return replyOf(stream);
  };
  const statuses = (await Promise.all([cut(), cut(), cut(), cut()])).map(({ trailers, headers }) =>
    String(trailers['grpc-status'] ?? headers['grpc-status']),
  );
  assert.deepEqual([...new Set(statuses)].toSorted(), [
    String(STATUS.deadlineExceeded),
    String(STATUS.resourceExhausted),
  ]);
  // What was held is free again, and a call whose messages come one behind the other may last.
  const stream = open(session);
  const reply = replyOf(stream);
  const body = Buffer.concat(Array.from({ length: 8 }, () => frame(Buffer.alloc(200_000))));
  // Longer than that in all, and each message much shorter.
  for (let at = 0; at < body.length; at += 80_000) {
    stream.write(body.subarray(at, at + 80_000));
    await sleep(80);
  }
  stream.end();
  const { trailers, body: back } = await reply;
  assert.deepEqual([trailers['grpc-status'], back.length], ['0', body.length]);
  session.destroy();
  server.destroy();
});
