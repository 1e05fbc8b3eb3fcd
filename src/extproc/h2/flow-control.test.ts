import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GREETING, H2Peer, h2Frame, hpackBlock, REQUEST_FIELDS, uint32 } from '../../../test/support/h2-peer.ts';
import { DEFAULT_WINDOW, FRAME as T, H2_ERROR as E } from './frame.ts';
import { STREAM_WINDOW } from './limits.ts';
import { Outlet } from './outlet.ts';
import { H2Stream } from './stream.ts';

const head = (stream: number) => h2Frame(T.headers, 4, stream, hpackBlock(REQUEST_FIELDS));
const NO_BYTES = Buffer.alloc(0);

/** DATA of so many bytes. */
const filling = (stream: number, bytes: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes / 16_384) }, (_, index) =>
    h2Frame(T.data, 0, stream, Buffer.alloc(Math.min(16_384, bytes - index * 16_384))),
  );

/** A peer whose streams are at hand, and that takes nothing by itself. */
function peerWithStreams(): { peer: H2Peer; streams: Map<number, H2Stream>; drained: number[] } {
  const streams = new Map<number, H2Stream>();
  const drained: number[] = [];
  const peer = new H2Peer({
    onRequest: (stream) => {
      streams.set(stream.id, stream);
      return { onData: () => {}, onEnd: () => {}, onDrain: () => drained.push(stream.id), onClose: () => {} };
    },
  });
  return { peer, streams, drained };
}

const dataOf = (peer: H2Peer, stream: number): Buffer =>
  Buffer.concat(peer.got.filter((frame) => frame.type === T.data && frame.stream === stream).map((f) => f.payload));

test('what is sent keeps to both windows, and goes on when they widen', async () => {
  const { peer, streams, drained } = peerWithStreams();
  peer.say(GREETING, head(1), head(3));
  await peer.settle();
  const message = Buffer.alloc(100_000, 'abcdefg');
  streams.get(1)!.sendData(Buffer.from('12345'), message);
  streams.get(1)!.sendTrailers(Buffer.from([0x88]));
  await peer.settle();
  assert.equal(dataOf(peer, 1).length, DEFAULT_WINDOW);
  assert.equal(streams.get(1)!.queued, 100_005 - DEFAULT_WINDOW);
  // The connection's window is used up, so another stream waits, too; its own window is none of the first one's.
  streams.get(3)!.sendData(Buffer.from('x'), NO_BYTES);
  await peer.settle();
  assert.equal(dataOf(peer, 3).length, 0);
  peer.say(h2Frame(T.windowUpdate, 0, 0, uint32(10)));
  await peer.settle();
  assert.equal(dataOf(peer, 3).toString(), 'x');
  assert.equal(dataOf(peer, 1).length, DEFAULT_WINDOW);
  peer.say(h2Frame(T.windowUpdate, 0, 0, uint32(100_000)), h2Frame(T.windowUpdate, 0, 1, uint32(20_000)));
  await peer.settle();
  assert.equal(dataOf(peer, 1).length, DEFAULT_WINDOW + 20_000);
  assert.ok(drained.includes(1));
  peer.say(h2Frame(T.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(DEFAULT_WINDOW + 30_000)])));
  await peer.settle();
  assert.deepEqual(dataOf(peer, 1), Buffer.concat([Buffer.from('12345'), message]));
  const last = peer.got.findLast(({ stream, type }) => stream === 1 && type === T.headers);
  assert.equal(last?.flags, 5, 'the trailers come behind the last byte');
  assert.equal(peer.reset(1), E.none, 'the peer need say no more');
  assert.ok(peer.got.every(({ type, payload }) => type !== T.data || payload.length <= 16_384));
  peer.destroy();
});

test('any messages arrive whole and in order, whatever windows do', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('send' as const), stream: fc.constantFrom(1, 3), size: fc.nat(40_000) }),
    fc.record({
      kind: fc.constant('widen' as const),
      stream: fc.constantFrom(0, 1, 3),
      size: fc.integer({ min: 1, max: 50_000 }),
    }),
    fc.record({ kind: fc.constant('window' as const), stream: fc.constant(0), size: fc.nat(100_000) }),
    fc.record({ kind: fc.constant('wait' as const), stream: fc.constant(0), size: fc.constant(0) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { peer, streams } = peerWithStreams();
      peer.say(GREETING, head(1), head(3));
      await peer.settle();
      const sent = new Map<number, Buffer[]>([
        [1, []],
        [3, []],
      ]);
      const windows = new Map([
        [0, DEFAULT_WINDOW],
        [1, 0],
        [3, 0],
      ]);
      let [initial, most] = [DEFAULT_WINDOW, DEFAULT_WINDOW];
      let fill = 0;
      for (const { kind, stream, size } of steps) {
        if (kind === 'send') {
          const bytes = Buffer.alloc(size, ++fill);
          sent.get(stream)!.push(Buffer.from([fill & 0xff]), bytes);
          streams.get(stream)!.sendData(Buffer.from([fill & 0xff]), bytes);
        } else if (kind === 'widen') {
          windows.set(stream, windows.get(stream)! + size);
          peer.say(h2Frame(T.windowUpdate, 0, stream, uint32(size)));
        } else if (kind === 'window') {
          initial = size;
          most = Math.max(most, size);
          peer.say(h2Frame(T.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(size)])));
        }
        if (kind !== 'send') await peer.settle();
      }
      await peer.settle();
      const got = new Map([1, 3].map((id) => [id, dataOf(peer, id)]));
      const total = [...got.values()].reduce((sum, { length }) => sum + length, 0);
      assert.ok(total <= windows.get(0)!, 'more than the connection has room for');
      for (const id of [1, 3]) {
        const whole = Buffer.concat(sent.get(id)!);
        const { length } = got.get(id)!;
        assert.ok(length <= windows.get(id)! + most, 'more than the stream has room for');
        assert.ok(got.get(id)!.equals(whole.subarray(0, length)));
        assert.equal(streams.get(id)!.queued, whole.length - length);
        const stalled = length < whole.length;
        if (stalled)
          assert.ok(total === windows.get(0)! || length >= windows.get(id)! + initial, 'it could have gone on');
      }
      peer.destroy();
    }),
    { numRuns: 300 },
  );
});

test('streams that wait for the connection take turns', async () => {
  const { peer, streams } = peerWithStreams();
  const wide = h2Frame(T.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(10_000_000)]));
  peer.say(GREETING, wide, head(1), head(3));
  await peer.settle();
  streams.get(1)!.sendData(Buffer.alloc(1), Buffer.alloc(2_000_000));
  streams.get(3)!.sendData(Buffer.alloc(1), Buffer.alloc(2_000_000));
  await peer.settle();
  peer.say(h2Frame(T.windowUpdate, 0, 0, uint32(500_000)));
  await peer.settle();
  const [one, three] = [dataOf(peer, 1).length, dataOf(peer, 3).length];
  assert.equal(one + three, DEFAULT_WINDOW + 500_000);
  assert.ok(Math.abs(one - DEFAULT_WINDOW - three) <= 70_000, `${one} and ${three}`);
  peer.destroy();
});

test('a window of the connection that widens wakes as many as it has room for, and nobody who waits for its own', async () => {
  const socket = duplexPair()[0] as unknown as Socket;
  const outlet = new Outlet(socket);
  const streamOf = (id: number, initialWindow: number): H2Stream => {
    outlet.peer = { ...outlet.peer, initialWindow };
    return new H2Stream({ outlet, id, contentLength: null, onClosed: () => {} });
  };
  let turns = 0;
  const pumped = (stream: H2Stream): H2Stream => {
    const pump = stream.pump.bind(stream);
    stream.pump = () => {
      turns += 1;
      pump();
    };
    return stream;
  };
  outlet.sendWindow = 0;
  const shut = Array.from({ length: 50 }, (_, at) => pumped(streamOf(4 * at + 1, 0)));
  const open = Array.from({ length: 50 }, (_, at) => pumped(streamOf(4 * at + 3, 10_000)));
  for (const stream of [...shut, ...open]) stream.sendData(Buffer.alloc(5), Buffer.alloc(995));
  for (let update = 0; update < 20; update++) {
    outlet.sendWindow += 1000;
    outlet.pumpAll();
  }
  assert.equal(turns, 20);
  assert.equal(open.filter(({ queued }) => queued === 0).length, 20);
  outlet.sendWindow += 100_000;
  outlet.pumpAll();
  assert.ok(open.every(({ queued }) => queued === 0));
  assert.ok(shut.every(({ queued }) => queued === 1000));
  for (const stream of shut) stream.widen(1000);
  assert.ok(shut.every(({ queued }) => queued === 0));
  socket.destroy();
});

test('a message of many turns leaves as far as both windows go', async () => {
  const { peer, streams } = peerWithStreams();
  const wide = h2Frame(T.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(10_000_000)]));
  peer.say(GREETING, wide, h2Frame(T.windowUpdate, 0, 0, uint32(10_000_000)), head(1));
  await peer.settle();
  streams.get(1)!.sendData(Buffer.alloc(5), Buffer.alloc(400_000));
  await peer.settle();
  assert.equal(dataOf(peer, 1).length, 400_005);
  peer.destroy();
});

test('messages of one stream that go out together share a frame', async () => {
  const { peer, streams } = peerWithStreams();
  peer.say(GREETING, head(1), head(3));
  await peer.settle();
  const first = streams.get(1)!;
  for (let i = 0; i < 5; i++) first.sendData(Buffer.from('p'), Buffer.from(String(i)));
  streams.get(3)!.sendData(Buffer.from('q'), NO_BYTES);
  first.sendData(Buffer.from('p'), Buffer.alloc(16_380, '5'));
  first.sendData(Buffer.from('p'), Buffer.from('6'));
  await peer.settle();
  const frames = peer.got.filter(({ type }) => type === T.data);
  assert.deepEqual(
    frames.map(({ stream, payload }) => [stream, payload.length]),
    [
      [1, 10],
      [3, 1],
      [1, 16_381],
      [1, 2],
    ],
  );
  assert.equal(frames[0]?.payload.toString(), 'p0p1p2p3p4');
  peer.destroy();
});

test('messages that go out together fill frames up to what the peer takes, and no further', async () => {
  const { peer, streams } = peerWithStreams();
  peer.say(GREETING, head(1));
  await peer.settle();
  for (let i = 0; i < 20; i++) streams.get(1)!.sendData(Buffer.from([i]), Buffer.alloc(3000, i));
  await peer.settle();
  const sizes = peer.got.filter(({ type }) => type === T.data).map(({ payload }) => payload.length);
  assert.deepEqual(sizes, [15_005, 15_005, 15_005, 15_005]);
  peer.destroy();
});

test('padding uses a window up, and is given back', async () => {
  const peer = new H2Peer();
  peer.say(GREETING, head(1));
  const padded = h2Frame(T.data, 8, 1, Buffer.concat([Buffer.from([255]), Buffer.alloc(1 + 255)]));
  for (let i = 0; i < 20; i++) {
    peer.say(Buffer.concat(Array.from({ length: 100 }, () => padded)));
    await peer.settle();
  }
  assert.equal(peer.reset(1), null, 'half a megabyte of padding is more than the window');
  peer.destroy();
});

test('the peer may send what a window has room for, and more only once that is taken', async () => {
  const { peer, streams } = peerWithStreams();
  peer.say(GREETING, head(1), head(3));
  peer.say(...filling(1, STREAM_WINDOW));
  await peer.settle();
  assert.equal(peer.reset(1), null);
  const updates = (stream: number): number[] =>
    peer.got.filter((f) => f.type === T.windowUpdate && f.stream === stream).map((f) => f.payload.readUInt32BE(0));
  assert.deepEqual(updates(1), []);
  const half = Math.ceil(STREAM_WINDOW / 2);
  streams.get(1)!.credit(half);
  await peer.settle();
  assert.deepEqual(updates(1), [half]);
  peer.say(...filling(1, half));
  await peer.settle();
  assert.equal(peer.reset(1), null);
  peer.say(h2Frame(T.data, 0, 1, Buffer.alloc(1)));
  await peer.settle();
  assert.equal(peer.reset(1), E.flowControl);
  assert.equal(peer.reset(3), null);
  peer.destroy();
});

test('the window of the connection is widened without waiting for any stream', async () => {
  const { peer } = peerWithStreams();
  peer.say(GREETING);
  for (let index = 0; index < 80; index++) {
    const id = index * 2 + 1;
    peer.say(head(id));
    peer.say(...filling(id, STREAM_WINDOW));
    await peer.settle();
  }
  assert.equal(peer.goaway, null, 'five megabytes that nobody takes are more than the window of the connection');
  peer.destroy();
});
