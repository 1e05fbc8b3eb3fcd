import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GREETING, H2Peer, h2Frame, hpackBlock, REQUEST_FIELDS, uint32 } from '../../../test/support/h2-peer.ts';
import { FRAME as T, H2_ERROR as E } from './frame.ts';

const head = (stream: number, flags = 4) => h2Frame(T.headers, flags, stream, hpackBlock(REQUEST_FIELDS));
const times = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));

/** Floods that bring no work done, each legal frame by frame. All of them end the connection. */
const FLOODS: readonly (readonly [string, Buffer])[] = [
  ['PING', h2Frame(T.ping, 0, 0, Buffer.alloc(8))],
  ['answers to PING', h2Frame(T.ping, 1, 0, Buffer.alloc(8))],
  ['SETTINGS', h2Frame(T.settings, 0, 0)],
  ['PRIORITY', h2Frame(T.priority, 0, 1, Buffer.alloc(5))],
  ['empty DATA', h2Frame(T.data, 0, 1)],
  ['DATA of nothing but padding', h2Frame(T.data, 8, 1, Buffer.from([0]))],
  ['WINDOW_UPDATE of one byte', h2Frame(T.windowUpdate, 0, 0, uint32(1))],
  ['WINDOW_UPDATE of one byte of a stream', h2Frame(T.windowUpdate, 0, 1, uint32(1))],
  ['unknown frames', h2Frame(0x55, 0, 0)],
];

for (const [name, frame] of FLOODS) {
  test(`a flood of ${name} ends the connection, some of it does not`, async () => {
    const peer = new H2Peer({ now: () => 0 });
    peer.say(
      GREETING,
      head(1),
      times(5000, () => frame),
    );
    await peer.settle();
    assert.equal(peer.goaway, null);
    peer.say(times(6000, () => frame));
    await peer.settle();
    assert.equal(peer.goaway, E.calm);
    assert.deepEqual(peer.events, ['1 POST /a', '1 close']);
    peer.destroy();
  });
}

test('what is a flood in a second is none in a minute', async () => {
  let now = 0;
  const peer = new H2Peer({ now: () => now });
  peer.say(GREETING);
  for (let second = 0; second < 60; second++) {
    peer.say(times(900, () => h2Frame(T.ping, 0, 0, Buffer.alloc(8))));
    await peer.settle();
    now += 1000;
  }
  assert.equal(peer.goaway, null);
  peer.destroy();
});

test('headers without an end are cut off, by their bytes and by their frames', async () => {
  const bytes = new H2Peer();
  bytes.say(
    GREETING,
    head(1, 0),
    times(5, () => h2Frame(T.continuation, 0, 1, Buffer.alloc(16_000))),
  );
  await bytes.settle();
  assert.equal(bytes.goaway, E.calm);
  const frames = new H2Peer();
  frames.say(
    GREETING,
    head(1, 0),
    times(17, () => h2Frame(T.continuation, 0, 1)),
  );
  await frames.settle();
  assert.equal(frames.goaway, E.calm);
  assert.deepEqual([...bytes.events, ...frames.events], []);
});

test('a short block that stands for a huge list costs no memory, and only its stream', async () => {
  const peer = new H2Peer();
  const entry = Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 0x1e]), Buffer.alloc(4000, 'x')]);
  peer.say(GREETING, h2Frame(T.headers, 4, 1, Buffer.concat([hpackBlock(REQUEST_FIELDS), entry])));
  await peer.settle();
  const before = process.memoryUsage().heapUsed;
  for (let index = 1; index <= 50; index++)
    peer.say(
      h2Frame(T.headers, 4, index * 2 + 1, Buffer.concat([hpackBlock(REQUEST_FIELDS), Buffer.alloc(16_000, 0xbe)])),
    );
  await peer.settle();
  assert.equal(peer.goaway, null);
  assert.equal(peer.reset(101), E.protocol);
  assert.deepEqual(peer.events, ['1 POST /a']);
  assert.ok(process.memoryUsage().heapUsed - before < 50e6);
  peer.destroy();
});

test('twenty thousand streams that are opened and reset at once leave nothing behind', async () => {
  const peer = new H2Peer();
  peer.say(GREETING);
  const began = performance.now();
  for (let round = 0; round < 20; round++) {
    peer.say(
      times(1000, (index) => {
        const id = (round * 1000 + index) * 2 + 1;
        return Buffer.concat([head(id), h2Frame(T.reset, 0, id, uint32(8))]);
      }),
    );
    await peer.settle();
    assert.equal(peer.connection.streams, 0);
  }
  assert.equal(peer.goaway, null);
  assert.equal(peer.events.length, 40_000);
  assert.ok(performance.now() - began < 5000);
  peer.destroy();
});

test('resets without end are a flood after all', async () => {
  const peer = new H2Peer({ now: () => 0, onRequest: () => ({ onData() {}, onEnd() {}, onDrain() {}, onClose() {} }) });
  peer.say(GREETING, head(1));
  for (let round = 0; round < 21; round++) {
    peer.say(times(10_000, () => h2Frame(T.reset, 0, 1, uint32(8))));
    await peer.settle();
  }
  assert.equal(peer.goaway, E.calm);
  peer.destroy();
});

test('ten thousand streams above the cap are refused, and the first are unharmed', async () => {
  const peer = new H2Peer({ maxStreams: 100 });
  peer.say(
    GREETING,
    times(10_100, (index) => head(index * 2 + 1)),
  );
  await peer.settle();
  assert.equal(peer.connection.streams, 100);
  assert.equal(
    peer.got.filter(({ type, payload }) => type === T.reset && payload.readUInt32BE(0) === E.refused).length,
    10_000,
  );
  peer.say(h2Frame(T.data, 1, 199, Buffer.alloc(3)));
  await peer.settle();
  assert.deepEqual(peer.events.slice(-2), ['199 data 3', '199 end']);
  peer.destroy();
});
