import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { wholeBody } from '../core/body-pieces.ts';
import type { AttemptExchange } from '../core/exchange.ts';
import type { HeaderPair } from '../core/http.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { answerHead, headOf } from './flow-kit.test.ts';
import { borrowAttempt, tellUpstreamCut } from './handoff-client.ts';
import { type Ask, encodeFrame, FrameReader } from './handoff-frames.ts';
import { startHandoffServer } from './handoff-server.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-handoff-'));
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers) await close();
  rmSync(dir, { recursive: true });
});
let sockets = 0;
const nextPath = () => join(dir, `${(sockets += 1)}.sock`);

const passing: AttemptExchange = {
  onRequestHead: () => ({ kind: 'replace', mutation: {}, body: Buffer.alloc(0), watch: 'none' }),
  onResponseHead: () => ({ kind: 'hold' }),
  onResponseBody: () => ({ kind: 'continue', mutation: {} }),
  close() {},
};

async function lend(
  attempt: (id: string, cluster: string, isConnected: boolean, address?: string) => AttemptExchange | null,
) {
  const path = nextPath();
  const warned: string[] = [];
  const cut: string[] = [];
  const log: Log = { debug() {}, info() {}, error() {}, warn: (message) => warned.push(message) };
  const server = await startHandoffServer({ path, attempt, onUpstreamCut: (id) => cut.push(id), log });
  closers.push(() => server.close());
  const borrow = (id = 'one', timeoutMs = 20_000) =>
    borrowAttempt({ path, id, cluster: 'a', isConnected: false, address: '10.0.0.1:80', timeoutMs });
  return { path, warned, cut, borrow, close: () => server.close() };
}

async function until(check: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !check(); turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(check());
}

test('an attempt is lent whole: heads, bodies and replies, and its end', async () => {
  const seen: unknown[] = [];
  const headers: readonly HeaderPair[] = [
    ['a', '1'],
    ['a', '2'],
    ['ü', '\u0000"'],
  ];
  const { borrow } = await lend((id, cluster, isConnected, address) => {
    seen.push([id, cluster, isConnected, address]);
    return {
      onRequestHead(head) {
        seen.push([head.method, head.path, head.headers.all('a'), [...head.headers]]);
        return {
          kind: 'replace',
          mutation: { set: [['x', 'y']], remove: ['z'], metadata: { n: { deep: [1, { two: null }] } } },
          body: Buffer.from([0, 255, 10, 13]),
          watch: 'body',
        };
      },
      async onResponseHead(head, end) {
        seen.push([head.status, head.headers.get('ü'), end]);
        return { kind: 'hold' };
      },
      onResponseBody(chunk, end) {
        seen.push([Buffer.isBuffer(chunk), [...chunk], end]);
        return { kind: 'continue', mutation: { set: [[':status', '503']] } };
      },
      close: () => seen.push('closed'),
    };
  });
  const attempt = borrow('7-id');
  assert.deepEqual(await attempt.onRequestHead(headOf(headers)), {
    kind: 'replace',
    mutation: { set: [['x', 'y']], remove: ['z'], metadata: { n: { deep: [1, { two: null }] } } },
    body: Buffer.from([0, 255, 10, 13]),
    watch: 'body',
  });
  assert.deepEqual(await attempt.onResponseHead(answerHead(200, headers), false), { kind: 'hold' });
  const reply = await attempt.onResponseBody(Buffer.from([0, 128, 255]), true);
  assert.deepEqual(reply, { kind: 'continue', mutation: { set: [[':status', '503']] } });
  attempt.close();
  await until(() => seen.includes('closed'));
  assert.deepEqual(seen, [
    ['7-id', 'a', false, '10.0.0.1:80'],
    ['POST', '/v1/chat/completions', ['1', '2'], headers],
    [200, '\u0000"', false],
    [true, [0, 128, 255], true],
    'closed',
  ]);
});

test('an answer of our own comes over with its body', async () => {
  const body = new Uint8Array([123, 0, 255]);
  const response = { status: 429, headers: [['retry-after', '1']] as const, body, details: 'x' };
  const { borrow } = await lend(() => ({ ...passing, onRequestHead: () => ({ kind: 'respond', response }) }));
  const attempt = borrow();
  const opened = await attempt.onRequestHead(headOf());
  assert.equal(opened.kind, 'respond');
  assert.deepEqual(opened.kind === 'respond' && { ...opened.response, body: [...opened.response.body] }, {
    ...response,
    body: [...body],
  });
  attempt.close();
});

test('a big body comes over whole', async () => {
  const body = Buffer.alloc(12 * 1024 * 1024, 'abcdefg');
  const { borrow } = await lend(() => ({
    ...passing,
    onRequestHead: () => ({ kind: 'replace', mutation: {}, body, watch: 'none' }),
  }));
  const attempt = borrow();
  const opened = await attempt.onRequestHead(headOf());
  assert.ok(opened.kind === 'replace' && wholeBody(opened.body).equals(body));
  attempt.close();
});

test('an attempt of a request that is not there is refused, and so is all that follows', async () => {
  const { borrow } = await lend(() => null);
  const attempt = borrow();
  await assert.rejects(async () => attempt.onRequestHead(headOf()), /not under way/);
  await assert.rejects(async () => attempt.onResponseHead(answerHead(), false), /out of turn/);
  attempt.close();
});

test('questions that are asked at once are answered in their order', async () => {
  const { borrow } = await lend(() => ({
    ...passing,
    async onResponseHead() {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { kind: 'hold' };
    },
  }));
  const attempt = borrow();
  const replies = await Promise.all([
    attempt.onRequestHead(headOf()),
    attempt.onResponseHead(answerHead(), false),
    attempt.onResponseBody(Buffer.from('x'), true),
  ]);
  assert.deepEqual(
    replies.map((reply) => reply.kind),
    ['replace', 'hold', 'continue'],
  );
  attempt.close();
});

test('a fault at the owner ends the attempt and is told to its log', async () => {
  const { borrow, warned } = await lend(() => ({
    ...passing,
    onResponseHead() {
      throw new Error('fault');
    },
  }));
  const attempt = borrow();
  await attempt.onRequestHead(headOf());
  await assert.rejects(async () => attempt.onResponseHead(answerHead(), false), /closed the connection/);
  await assert.rejects(async () => attempt.onResponseBody(Buffer.from('x'), false));
  await until(() => warned.length === 1);
});

test('an owner that dies in the middle fails every question, asked before and after', async () => {
  const { borrow, close } = await lend(() => ({ ...passing, onResponseHead: () => new Promise<never>(() => {}) }));
  const attempt = borrow('one', 60_000);
  await attempt.onRequestHead(headOf());
  const waiting = assert.rejects(async () => attempt.onResponseHead(answerHead(), false));
  await new Promise((resolve) => setTimeout(resolve, 20));
  await close();
  await waiting;
  await assert.rejects(async () => attempt.onResponseBody(Buffer.from('x'), true));
  attempt.close();
});

test('an owner that is not there, or says nothing, fails the question in time', async () => {
  await assert.rejects(async () =>
    borrowAttempt({
      path: nextPath(),
      id: 'x',
      cluster: 'a',
      isConnected: false,
      address: '10.0.0.1:80',
      timeoutMs: 1000,
    }).onRequestHead(headOf()),
  );
  const path = nextPath();
  const mute: Server = createServer((socket) => socket.on('error', () => {}).resume());
  await new Promise<void>((resolve) => mute.listen(path, resolve));
  const began = performance.now();
  await assert.rejects(
    async () =>
      borrowAttempt({
        path,
        id: 'x',
        cluster: 'a',
        isConnected: false,
        address: '10.0.0.1:80',
        timeoutMs: 80,
      }).onRequestHead(headOf()),
    /did not answer/,
  );
  assert.ok(performance.now() - began < 1500);
  mute.close();
});

test('a borrower that goes away closes the attempt, nonsense closes the connection', async () => {
  let closed = 0;
  const { path, warned } = await lend(() => ({ ...passing, close: () => (closed += 1) }));
  const rude = connect(path);
  rude.on('error', () => {});
  rude.write(
    encodeFrame({
      kind: 'request-head',
      id: 'x',
      cluster: 'a',
      isConnected: false,
      head: { method: 'POST', path: '/', headers: [] },
    }),
  );
  await new Promise((resolve) => rude.once('data', resolve));
  rude.destroy();
  await until(() => closed === 1);
  const liar = connect(path);
  liar.on('error', () => {});
  liar.write(Buffer.from([255, 255, 255, 255, 0]));
  await new Promise((resolve) => liar.once('close', resolve));
  assert.deepEqual(warned, ['a handed-over attempt failed']);
});

test('an owner that talks nonsense fails the question', async () => {
  const path = nextPath();
  const liar = createServer((socket) => socket.on('error', () => {}).end(Buffer.from([255, 255, 255, 255, 0])));
  await new Promise<void>((resolve) => liar.listen(path, resolve));
  const attempt = borrowAttempt({
    path,
    id: 'x',
    cluster: 'a',
    isConnected: false,
    address: '10.0.0.1:80',
    timeoutMs: 60_000,
  });
  await assert.rejects(async () => attempt.onRequestHead(headOf()), RangeError);
  liar.close();
});

test('a socket that cannot be made is told at the start', async () => {
  const path = join(dir, 'no', 'folder.sock');
  const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
  await assert.rejects(startHandoffServer({ path, attempt: () => null, onUpstreamCut() {}, log }));
});

test("Envoy's word that an upstream broke is passed on, to nobody as well", async () => {
  const { path, cut } = await lend(() => null);
  tellUpstreamCut(path, '0-id');
  tellUpstreamCut(nextPath(), '0-id');
  await until(() => cut.length === 1);
  assert.deepEqual(cut, ['0-id']);
});

test('a socket that a dead worker left is taken over, for this user alone', async () => {
  const path = nextPath();
  writeFileSync(path, 'left');
  const server = await startHandoffServer({
    path,
    attempt: () => passing,
    onUpstreamCut() {},
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(statSync(path).isSocket());
  await server.close();
});

test('frames are the same however the bytes are cut', () => {
  const bytes = fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each));
  const ask: fc.Arbitrary<Ask> = fc.oneof(
    fc.record(
      { kind: fc.constant('response-body' as const), chunk: bytes, end: fc.boolean() },
      { noNullPrototype: true },
    ),
    fc.record(
      {
        kind: fc.constant('response-head' as const),
        status: fc.nat(599),
        headers: fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string()), { maxLength: 3 }),
        end: fc.boolean(),
      },
      { noNullPrototype: true },
    ),
  );
  fc.assert(
    fc.property(
      fc.array(ask, { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
      (asks, sizes) => {
        const wire = Buffer.concat(asks.map((each) => encodeFrame(each)));
        const reader = new FrameReader<Ask>();
        const read: Ask[] = [];
        for (let at = 0, turn = 0; at < wire.length; turn += 1) {
          const size = sizes[turn % sizes.length]!;
          read.push(...reader.push(wire.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(read, asks);
      },
    ),
  );
});

test('reading a frame costs by its size, not by its square', () => {
  const time = (size: number) => {
    const wire = encodeFrame({ kind: 'response-body', chunk: Buffer.alloc(size), end: true });
    const reader = new FrameReader<Ask>();
    const began = performance.now();
    let frames = 0;
    for (let at = 0; at < wire.length; at += 1024) frames += reader.push(wire.subarray(at, at + 1024)).length;
    assert.equal(frames, 1);
    return performance.now() - began;
  };
  time(100_000);
  const least = (size: number): number => Math.min(...Array.from({ length: 8 }, () => time(size)));
  const [small, large] = [least(500_000), least(4_000_000)];
  assert.ok(large < small * 8 * 4 + 50, `${small} ms and ${large} ms for eight times as much`);
});
