import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  framesOf,
  GREETING,
  H2Peer,
  h2Frame,
  hpackBlock,
  REQUEST_FIELDS,
  uint32,
} from '../../../test/support/h2-peer.ts';
import { FRAME as T, H2_ERROR as E, PREFACE } from './frame.ts';

const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;
const PRIORITY = 0x20;
const head = (stream: number, flags = END_HEADERS, fields: readonly (readonly [string, string])[] = REQUEST_FIELDS) =>
  h2Frame(T.headers, flags, stream, hpackBlock(fields));
const body = (stream: number, size: number, flags = 0) => h2Frame(T.data, flags, stream, Buffer.alloc(size));
const setting = (id: number, value: number) => Buffer.concat([Buffer.from([0, id]), uint32(value)]);
const but = (name: string, value: string | null): readonly (readonly [string, string])[] =>
  REQUEST_FIELDS.flatMap((field) => (field[0] !== name ? [field] : value === null ? [] : [[name, value] as const]));
const and = (...more: readonly (readonly [string, string])[]) => [...REQUEST_FIELDS, ...more];

/** What ends a connection, by the section of RFC 9113 that says so. */
const CONNECTION_ERRORS: readonly (readonly [string, number, readonly Buffer[]])[] = [
  ['3.4 no SETTINGS first', E.protocol, [h2Frame(T.ping, 0, 0, Buffer.alloc(8))]],
  ['3.4 an ACK of SETTINGS first', E.protocol, [h2Frame(T.settings, 1, 0)]],
  ['4.2 a frame that is too large', E.frameSize, [GREETING, h2Frame(T.data, 0, 1, Buffer.alloc(0), 16_385)]],
  [
    '4.3 a block that cannot be read',
    E.compression,
    [GREETING, h2Frame(T.headers, END_HEADERS, 1, Buffer.from([0x80]))],
  ],
  ['5.1 DATA of an idle stream', E.protocol, [GREETING, body(1, 1)]],
  ['5.1 RST_STREAM of an idle stream', E.protocol, [GREETING, h2Frame(T.reset, 0, 1, uint32(8))]],
  ['5.1 WINDOW_UPDATE of an idle stream', E.protocol, [GREETING, h2Frame(T.windowUpdate, 0, 1, uint32(1))]],
  ['5.1.1 an even stream', E.protocol, [GREETING, head(2)]],
  ['6.1 DATA of no stream', E.protocol, [GREETING, body(0, 1)]],
  ['6.1 padding past DATA', E.protocol, [GREETING, head(1), h2Frame(T.data, PADDED, 1, Buffer.from([2, 0]))]],
  ['6.1 padded DATA without a length', E.protocol, [GREETING, head(1), h2Frame(T.data, PADDED, 1)]],
  ['6.2 HEADERS of no stream', E.protocol, [GREETING, head(0)]],
  [
    '6.2 padding past HEADERS',
    E.protocol,
    [GREETING, h2Frame(T.headers, PADDED | END_HEADERS, 1, Buffer.from([9, 0]))],
  ],
  ['6.2 HEADERS without their priority', E.protocol, [GREETING, h2Frame(T.headers, PRIORITY, 1, Buffer.alloc(3))]],
  ['6.3 PRIORITY of no stream', E.protocol, [GREETING, h2Frame(T.priority, 0, 0, Buffer.alloc(5))]],
  ['6.3 PRIORITY of a wrong length', E.frameSize, [GREETING, h2Frame(T.priority, 0, 1, Buffer.alloc(4))]],
  ['6.4 RST_STREAM of no stream', E.protocol, [GREETING, h2Frame(T.reset, 0, 0, uint32(8))]],
  ['6.4 RST_STREAM of a wrong length', E.frameSize, [GREETING, head(1), h2Frame(T.reset, 0, 1, Buffer.alloc(5))]],
  ['6.5 SETTINGS of a stream', E.protocol, [GREETING, h2Frame(T.settings, 0, 1)]],
  ['6.5 SETTINGS of a wrong length', E.frameSize, [GREETING, h2Frame(T.settings, 0, 0, Buffer.alloc(5))]],
  ['6.5 an ACK with a payload', E.frameSize, [GREETING, h2Frame(T.settings, 1, 0, Buffer.alloc(6))]],
  ['6.5.2 ENABLE_PUSH of 2', E.protocol, [GREETING, h2Frame(T.settings, 0, 0, setting(2, 2))]],
  ['6.5.2 a window of 2^31', E.flowControl, [GREETING, h2Frame(T.settings, 0, 0, setting(4, 2 ** 31))]],
  ['6.5.2 frames of less than 2^14', E.protocol, [GREETING, h2Frame(T.settings, 0, 0, setting(5, 16_383))]],
  ['6.5.2 frames of 2^24', E.protocol, [GREETING, h2Frame(T.settings, 0, 0, setting(5, 2 ** 24))]],
  ['6.6 PUSH_PROMISE', E.protocol, [GREETING, h2Frame(T.pushPromise, END_HEADERS, 1, Buffer.alloc(4))]],
  ['6.7 PING of a stream', E.protocol, [GREETING, h2Frame(T.ping, 0, 1, Buffer.alloc(8))]],
  ['6.7 PING of a wrong length', E.frameSize, [GREETING, h2Frame(T.ping, 0, 0, Buffer.alloc(7))]],
  ['6.8 GOAWAY of a stream', E.protocol, [GREETING, h2Frame(T.goaway, 0, 1, Buffer.alloc(8))]],
  ['6.8 GOAWAY of a wrong length', E.frameSize, [GREETING, h2Frame(T.goaway, 0, 0, Buffer.alloc(7))]],
  ['6.9 WINDOW_UPDATE of a wrong length', E.frameSize, [GREETING, h2Frame(T.windowUpdate, 0, 0, Buffer.alloc(3))]],
  ['6.9 WINDOW_UPDATE of nothing', E.protocol, [GREETING, h2Frame(T.windowUpdate, 0, 0, uint32(0))]],
  ['6.9.1 a window of 2^31', E.flowControl, [GREETING, h2Frame(T.windowUpdate, 0, 0, uint32(2 ** 31 - 1))]],
  [
    '6.9.2 a window of 2^31 by SETTINGS',
    E.flowControl,
    [
      GREETING,
      head(1),
      h2Frame(T.windowUpdate, 0, 1, uint32(2 ** 30)),
      h2Frame(T.settings, 0, 0, setting(4, 2 ** 31 - 1)),
    ],
  ],
  ['6.10 CONTINUATION of nothing', E.protocol, [GREETING, h2Frame(T.continuation, END_HEADERS, 1)]],
  ['6.10 CONTINUATION behind a whole block', E.protocol, [GREETING, head(1), h2Frame(T.continuation, END_HEADERS, 1)]],
  ['6.10 CONTINUATION of another stream', E.protocol, [GREETING, head(1, 0), h2Frame(T.continuation, END_HEADERS, 3)]],
  ['6.10 a frame inside a block', E.protocol, [GREETING, head(1, 0), h2Frame(T.ping, 0, 0, Buffer.alloc(8))]],
  ['5.5 an unknown frame inside a block', E.protocol, [GREETING, head(1, 0), h2Frame(0x20, 0, 1)]],
];

/** What ends stream 1 and nothing else. */
const STREAM_ERRORS: readonly (readonly [string, number, readonly Buffer[]])[] = [
  ['5.1 DATA behind the end', E.streamClosed, [head(1, END_HEADERS | END_STREAM), body(1, 1)]],
  [
    '5.1 HEADERS behind the end',
    E.streamClosed,
    [head(1, END_HEADERS | END_STREAM), head(1, END_HEADERS | END_STREAM, [['a', 'b']])],
  ],
  ['6.9 WINDOW_UPDATE of nothing', E.protocol, [head(1), h2Frame(T.windowUpdate, 0, 1, uint32(0))]],
  ['6.9.1 a window of 2^31', E.flowControl, [head(1), h2Frame(T.windowUpdate, 0, 1, uint32(2 ** 31 - 1))]],
  ['8.1 trailers that are not the end', E.protocol, [head(1), head(1, END_HEADERS, [['a', 'b']])]],
  ['8.1 a pseudo-field in trailers', E.protocol, [head(1), head(1, END_HEADERS | END_STREAM, [[':path', '/']])]],
  [
    '8.1.1 less than content-length',
    E.protocol,
    [head(1, END_HEADERS, and(['content-length', '2'])), body(1, 1, END_STREAM)],
  ],
  ['8.1.1 more than content-length', E.protocol, [head(1, END_HEADERS, and(['content-length', '2'])), body(1, 3)]],
  ['8.1.1 no body for content-length', E.protocol, [head(1, END_HEADERS | END_STREAM, and(['content-length', '2']))]],
  ['8.1.1 a content-length that is none', E.protocol, [head(1, END_HEADERS, and(['content-length', '-1']))]],
  ['8.2.1 capital letters', E.protocol, [head(1, END_HEADERS, and(['A', 'b']))]],
  ['8.2.1 a line break in a value', E.protocol, [head(1, END_HEADERS, and(['a', 'b\r\nc: d']))]],
  ['8.2.1 a space in a name', E.protocol, [head(1, END_HEADERS, and(['a b', 'c']))]],
  ['8.2.1 an empty name', E.protocol, [head(1, END_HEADERS, and(['', 'c']))]],
  ['8.2.2 connection', E.protocol, [head(1, END_HEADERS, and(['connection', 'close']))]],
  ['8.2.2 transfer-encoding', E.protocol, [head(1, END_HEADERS, and(['transfer-encoding', 'chunked']))]],
  ['8.2.2 te other than trailers', E.protocol, [head(1, END_HEADERS, and(['te', 'gzip']))]],
  ['8.3 an unknown pseudo-field', E.protocol, [head(1, END_HEADERS, [[':x', 'y'], ...REQUEST_FIELDS])]],
  ['8.3 the pseudo-field of an answer', E.protocol, [head(1, END_HEADERS, [[':status', '200'], ...REQUEST_FIELDS])]],
  ['8.3 a pseudo-field behind others', E.protocol, [head(1, END_HEADERS, [['a', 'b'], ...REQUEST_FIELDS])]],
  ['8.3.1 two paths', E.protocol, [head(1, END_HEADERS, [[':path', '/b'], ...REQUEST_FIELDS])]],
  ['8.3.1 no method', E.protocol, [head(1, END_HEADERS, but(':method', null))]],
  ['8.3.1 no scheme', E.protocol, [head(1, END_HEADERS, but(':scheme', null))]],
  ['8.3.1 no path', E.protocol, [head(1, END_HEADERS, but(':path', null))]],
  ['8.3.1 an empty path', E.protocol, [head(1, END_HEADERS, but(':path', ''))]],
];

test('what breaks a rule of the connection ends it with the right code', async () => {
  for (const [rule, code, frames] of CONNECTION_ERRORS) {
    const peer = new H2Peer();
    peer.say(...(frames[0] === GREETING ? frames : [PREFACE, ...frames]));
    await peer.settle();
    assert.equal(peer.goaway, code, rule);
    assert.deepEqual(peer.faults, [], rule);
    const { length } = peer.events;
    peer.say(head(101), body(101, 5));
    await peer.settle();
    assert.equal(peer.events.length, length, `${rule}: something came after the end`);
    const opened = peer.events.filter((event) => event.includes('POST')).length;
    assert.equal(peer.events.filter((event) => event.endsWith('close')).length, opened, rule);
    peer.destroy();
  }
});

test('what breaks a rule of a stream resets that stream, and the next one is served', async () => {
  for (const [rule, code, frames] of STREAM_ERRORS) {
    const peer = new H2Peer();
    peer.say(GREETING, ...frames, head(3, END_HEADERS | END_STREAM));
    await peer.settle();
    assert.equal(peer.reset(1), code, rule);
    assert.equal(peer.goaway, null, rule);
    assert.deepEqual(peer.events.slice(-2), ['3 POST /a', '3 end'], rule);
    assert.equal(peer.events.includes('1 POST /a'), peer.events.includes('1 close'), rule);
    assert.equal(peer.connection.streams, 1, rule);
    peer.destroy();
  }
});

test('what is legal, or may be passed over, is no error', async () => {
  const peer = new H2Peer();
  peer.say(
    GREETING,
    h2Frame(T.settings, 0, 0, Buffer.concat([setting(1, 0), setting(2, 0), setting(3, 5), setting(99, 7)])),
    h2Frame(
      T.headers,
      PADDED | PRIORITY | END_HEADERS,
      1,
      Buffer.concat([Buffer.from([3]), Buffer.alloc(5), hpackBlock(REQUEST_FIELDS), Buffer.alloc(3)]),
    ),
    h2Frame(T.data, PADDED, 1, Buffer.concat([Buffer.from([4]), Buffer.alloc(10), Buffer.alloc(4)])),
    h2Frame(T.data, PADDED, 1, Buffer.from([0])),
    h2Frame(T.priority, 0, 1, Buffer.alloc(5)),
    h2Frame(T.priority, 0, 77, Buffer.alloc(5)),
    h2Frame(0xfa, 0xff, 1, Buffer.alloc(100)),
    h2Frame(0xfa, 0, 0, Buffer.alloc(100)),
    head(1, END_HEADERS | END_STREAM, [['x-trailer', 'y']]),
    h2Frame(T.headers, END_STREAM, 3, hpackBlock(REQUEST_FIELDS).subarray(0, 5)),
    h2Frame(T.continuation, 0, 3, hpackBlock(REQUEST_FIELDS).subarray(5, 20)),
    h2Frame(T.continuation, END_HEADERS, 3, hpackBlock(REQUEST_FIELDS).subarray(20)),
    h2Frame(T.reset, 0, 3, uint32(8)),
    body(3, 10),
    h2Frame(T.windowUpdate, 0, 3, uint32(10)),
    h2Frame(T.reset, 0, 3, uint32(8)),
    head(7, END_HEADERS | END_STREAM, and(['te', 'trailers'], ['content-length', '0'])),
    h2Frame(T.ping, 0, 0, Buffer.from('12345678')),
  );
  await peer.settle();
  assert.equal(peer.goaway, null);
  assert.deepEqual(peer.events, [
    '1 POST /a',
    '1 data 10',
    '1 end',
    '3 POST /a',
    '3 end',
    '3 close',
    '7 POST /a',
    '7 end',
  ]);
  const pong = peer.got.find(({ type }) => type === T.ping);
  assert.deepEqual([pong?.flags, pong?.payload.toString()], [1, '12345678']);
  assert.equal(peer.got.filter(({ type, flags }) => type === T.settings && flags === 1).length, 2);
  peer.destroy();
});

/** DATA may come in parts: those of one stream that follow each other are one. */
function joinedData(events: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const event of events) {
    const [, stream, size] = /^(\d+) data (\d+)$/.exec(event) ?? [];
    const [, last, before] = /^(\d+) data (\d+)$/.exec(joined.at(-1) ?? '') ?? [];
    if (stream === undefined || stream !== last) joined.push(event);
    else joined[joined.length - 1] = `${stream} data ${Number(before) + Number(size)}`;
  }
  return joined;
}

test('bytes give the same events wherever reads cut them', async () => {
  const said = Buffer.concat([
    GREETING,
    head(1),
    body(1, 1000),
    h2Frame(T.headers, 0, 3, hpackBlock(REQUEST_FIELDS).subarray(0, 7)),
    h2Frame(T.continuation, END_HEADERS, 3, hpackBlock(REQUEST_FIELDS).subarray(7)),
    body(3, 16_384, END_STREAM),
    body(1, 0, END_STREAM),
    head(5, END_HEADERS | END_STREAM),
  ]);
  const whole = new H2Peer();
  whole.say(said);
  await whole.settle();
  assert.equal(whole.events.length, 8);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(said.length), { maxLength: 12 }), async (cuts) => {
      const peer = new H2Peer();
      let last = 0;
      for (const cut of [...cuts.toSorted((a, b) => a - b), said.length]) {
        peer.say(said.subarray(last, cut));
        last = cut;
      }
      await peer.settle();
      assert.deepEqual(joinedData(peer.events), whole.events);
      peer.destroy();
    }),
    { numRuns: 150 },
  );
  const peer = new H2Peer();
  for (const byte of said) peer.say(Buffer.from([byte]));
  for (let turn = 0; turn < 20; turn++) await peer.settle();
  assert.deepEqual(joinedData(peer.events), whole.events);
});

test('any frames, mended or broken, give no fault of ours and leave nothing open', async () => {
  const stream = fc.constantFrom(0, 1, 3, 5, 2, 7);
  const flags = fc.constantFrom(0, 1, 4, 5, 8, 12, 0x20, 0x24, 0x2c, 0xff);
  const type = fc.oneof({ arbitrary: fc.constantFrom(0, 1, 1, 3, 4, 8, 0x20), weight: 9 }, fc.nat(12));
  const payload = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(hpackBlock(REQUEST_FIELDS), Buffer.alloc(8), uint32(8), Buffer.alloc(6), hpackBlock([['a', 'b']])),
  );
  const frame = fc.tuple(type, flags, stream, payload).map(([kind, bits, id, bytes]) => h2Frame(kind, bits, id, bytes));
  const open = fc.constantFrom(1, 3, 5).map((id) => head(id));
  const any = fc.array(
    fc.oneof(
      { arbitrary: frame, weight: 2 },
      { arbitrary: open, weight: 2 },
      fc.uint8Array({ maxLength: 20 }).map((b) => Buffer.from(b)),
    ),
    {
      maxLength: 14,
    },
  );
  let [opened, ended] = [0, 0];
  await fc.assert(
    fc.asyncProperty(any, fc.boolean(), async (frames, together) => {
      const peer = new H2Peer();
      const all = [GREETING, ...frames];
      peer.say(...(together ? [Buffer.concat(all)] : all));
      await peer.settle();
      assert.deepEqual(peer.faults, []);
      opened += peer.events.filter((event) => event.includes('POST')).length;
      if (peer.goaway !== null) ended++;
      peer.destroy();
      await peer.settle();
      const count = (word: string): number => peer.events.filter((event) => event.includes(word)).length;
      assert.equal(count('close'), count('POST'));
      assert.equal(peer.connection.streams, 0);
      assert.ok(peer.isClosed);
    }),
    { numRuns: 3000 },
  );
  assert.ok(
    opened > 1000 && ended > 500 && ended < 2900,
    `${opened} opened, ${ended} ended: these frames test nothing`,
  );
});

test('the first bytes of anything but HTTP/2 end the connection', async () => {
  for (const text of ['GET / HTTP/1.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n', '\u0016\u0003\u0001\u0002\u0000']) {
    const peer = new H2Peer();
    peer.say(Buffer.from(text, 'latin1'));
    await peer.settle();
    assert.equal(peer.goaway, E.protocol);
    peer.destroy();
  }
});

test('streams above the cap are refused, and one that ends makes room', async () => {
  const peer = new H2Peer({ maxStreams: 2 });
  peer.say(GREETING, head(1), head(3), head(5));
  await peer.settle();
  assert.deepEqual([peer.reset(1), peer.reset(3), peer.reset(5)], [null, null, E.refused]);
  peer.say(h2Frame(T.reset, 0, 1, uint32(8)), head(7));
  await peer.settle();
  assert.equal(peer.reset(7), null);
  assert.equal(peer.events.at(-1), '7 POST /a');
  peer.destroy();
});

test('a drain serves what had begun, refuses nothing silently, and ends with the last stream', async () => {
  const peer = new H2Peer();
  peer.say(GREETING, head(1));
  await peer.settle();
  peer.connection.drain();
  await peer.settle();
  const [first] = peer.got.filter(({ type }) => type === T.goaway);
  assert.deepEqual([first?.payload.readUInt32BE(0), first?.payload.readUInt32BE(4)], [2 ** 31 - 1, E.none]);
  const ping = peer.got.find(({ type, flags }) => type === T.ping && flags === 0);
  assert.ok(ping);
  peer.say(head(3), h2Frame(T.ping, 1, 0, ping.payload), head(5));
  await peer.settle();
  const last = peer.got.findLast(({ type }) => type === T.goaway);
  assert.equal(last?.payload.readUInt32BE(0), 3);
  assert.deepEqual(peer.events, ['1 POST /a', '3 POST /a']);
  peer.say(h2Frame(T.reset, 0, 1, uint32(8)), h2Frame(T.reset, 0, 3, uint32(8)));
  await peer.settle();
  await peer.settle();
  assert.ok(peer.isClosed);
});

test('a peer that does not answer a PING is cut, one that does is not', async () => {
  const peer = new H2Peer();
  peer.say(GREETING);
  await peer.settle();
  peer.connection.askAlive();
  await peer.settle();
  const ping = peer.got.find(({ type }) => type === T.ping);
  peer.say(h2Frame(T.ping, 1, 0, ping!.payload));
  await peer.settle();
  peer.connection.askAlive();
  await peer.settle();
  assert.equal(peer.isClosed, false);
  peer.connection.askAlive();
  await peer.settle();
  assert.equal(peer.isClosed, true);
});

test('the frames of the greeting are those that were announced', async () => {
  const peer = new H2Peer({ maxStreams: 7 });
  await peer.settle();
  const [settings, ...more] = peer.got;
  assert.equal(settings?.type, T.settings);
  assert.ok(settings?.payload.includes(setting(3, 7)));
  assert.deepEqual(more, []);
  assert.equal(framesOf(Buffer.alloc(3)).length, 0);
  peer.destroy();
});
