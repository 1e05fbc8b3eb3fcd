import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ResponseDecoder } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { HeaderPair } from '../core/http.ts';
import { Answer, type AnswerEnd } from './answer.ts';
import { answerHead, clientDialect, contextOf, fakeDecoder, requestOf, sent, usageOf } from './flow-kit.test.ts';
import { UsageMeter } from './usage-meter.ts';

interface Opening {
  readonly stream?: boolean;
  readonly includeUsage?: boolean;
  readonly n?: number;
  readonly upstream?: readonly HeaderPair[];
  readonly decoder?: ResponseDecoder;
}

function open({ stream = true, includeUsage = false, n = 1, upstream = [], decoder = fakeDecoder() }: Opening = {}) {
  const ends: AnswerEnd[] = [];
  const order: string[] = [];
  const meter = new UsageMeter(7);
  const answer = new Answer({
    ctx: contextOf({ request: requestOf({ stream, n }) }),
    upstreamHead: answerHead(200, upstream),
    decoder,
    encoder: clientDialect.encoder({ stream, includeUsage }),
    meter,
    headers: () => (order.push('headers'), [['x-request-id', 'mine']]),
    usageHeaders: () => [['x-total-tokens', String(meter.complete().usage.completion)]],
    errorHead: (error, raw) => ({
      head: { set: [[':status', String(error.status)]], remove: ['x-tokenlat-local'] },
      body: raw ?? Buffer.from(error.code),
    }),
    onEnd: (end) => {
      order.push('end');
      ends.push(end);
      return { 'tokenlat.usage': { ended: end.kind } };
    },
    onFirstOutput: () => order.push('first output'),
  });
  const push = (text: string, end = false) => answer.push(Buffer.from(text), end);
  return { answer, push, ends, order, meter };
}

test("a stream's head waits for the first piece that means something", () => {
  const { push, order } = open();
  assert.deepEqual(push(''), { kind: 'hold' });
  const first = sent(push('role'));
  assert.deepEqual(first.head?.set, [
    ['content-type', 'text/event-stream'],
    ['x-request-id', 'mine'],
    ['cache-control', 'no-cache'],
    ['x-accel-buffering', 'no'],
  ]);
  assert.deepEqual([first.text, first.end, first.metadata], ['role\n', false, undefined]);
  const second = sent(push('out:hello'));
  assert.deepEqual([second.head, second.text], [undefined, 'out:hello\n']);
  assert.deepEqual(order, ['headers', 'first output']);
});

test('a stream ends when its upstream does, not at [DONE], and what comes between is dropped', () => {
  const { push, ends, answer } = open();
  const done = sent(push('out:hi|fin|done'));
  assert.deepEqual([done.text, done.end, ends.length], ['out:hi\nfin\n[DONE]\n', false, 0]);
  assert.equal(answer.lingering, 'said');
  assert.deepEqual(push('out:more'), { kind: 'hold' });
  const last = sent(push('', true));
  assert.deepEqual([last.text, last.end, ends], ['', true, [{ kind: 'complete' }]]);
  assert.deepEqual(last.metadata, { 'tokenlat.usage': { ended: 'complete' } });
  assert.deepEqual(push('out:late', true), { kind: 'hold' });
  assert.equal(ends.length, 1);
});

test('a stream that has a finish reason for each choice may end without [DONE]', () => {
  const { push, ends, answer } = open({ n: 2 });
  push('out:a|fin');
  assert.equal(answer.lingering, null);
  push('fin');
  assert.equal(answer.lingering, 'finished');
  const last = sent(answer.close());
  assert.deepEqual([last.text, last.end, ends], ['[DONE]\n', true, [{ kind: 'complete' }]]);
  assert.equal(answer.lingering, null);
});

test('an error before the head keeps its own status, and nothing of the upstream goes out', () => {
  const { push, ends, answer } = open({
    upstream: [
      ['content-length', '9'],
      ['x-secret', 's'],
      ['date', 'd'],
    ],
  });
  const reply = sent(push('ping|error:upstream_overloaded:3,4'));
  assert.deepEqual(reply.head, {
    set: [[':status', '503']],
    remove: ['x-tokenlat-local', 'content-length', 'x-secret'],
  });
  assert.deepEqual([reply.text, reply.end], ['upstream_overloaded', true]);
  assert.deepEqual(reply.metadata, { 'tokenlat.usage': { ended: 'failed' } });
  assert.equal(ends[0]?.kind === 'failed' && ends[0].begun, false);
  assert.ok(answer.ended);
  assert.deepEqual(push('out:x', true), { kind: 'hold' });
});

test('an error after the head goes into the stream, once, and ends it', () => {
  const { push, ends } = open();
  push('out:hello');
  const reply = sent(push('out:more|error:upstream_overloaded|out:never'));
  assert.deepEqual([reply.head, reply.end], [undefined, true]);
  assert.equal(reply.text, 'out:more\n!upstream_overloaded\n[DONE]\n');
  assert.equal(ends[0]?.kind === 'failed' && ends[0].begun, true);
});

test('an error right behind the first output still shows that output', () => {
  const { push, order } = open();
  const reply = sent(push('out:hello|error:upstream_overloaded'));
  assert.equal(reply.header(':status'), undefined);
  assert.equal(reply.header('content-type'), 'text/event-stream');
  assert.equal(reply.text, 'out:hello\n!upstream_overloaded\n[DONE]\n');
  assert.ok(order.includes('first output'));
});

test('what was sent before an error is metered once', () => {
  for (const last of ['error:upstream_overloaded', 'cut']) {
    const { push, meter } = open();
    push(`out:${'x'.repeat(40)}|fin|${last}`);
    assert.equal(meter.cut().usage.completion, 10, last);
    assert.equal(meter.finishes, 1, last);
  }
});

test('a usage that an error tells is taken', () => {
  const { push, meter } = open();
  push('error:upstream_overloaded:3,4');
  assert.deepEqual(meter.toldUsage, usageOf(3, 4));
});

test('bytes that just stop are an error, before the head and after it', () => {
  const early = open();
  assert.equal(sent(early.push('', true)).text, 'upstream_stream_interrupted');
  const late = open();
  late.push('out:hello');
  assert.equal(sent(late.push('', true)).text, '!upstream_stream_interrupted\n[DONE]\n');
  const told = open();
  assert.equal(sent(told.push('out:hello|cut|out:never')).text, 'out:hello\n!upstream_stream_interrupted\n[DONE]\n');
  const silent = open({ decoder: { push: () => [], end: () => [] } });
  assert.equal(sent(silent.push('x', true)).text, 'upstream_stream_interrupted');
});

test('an answer that is no stream goes out whole, with its length and what it used', () => {
  const { push, answer } = open({
    stream: false,
    upstream: [
      ['content-length', '2'],
      ['transfer-encoding', 'chunked'],
    ],
  });
  assert.deepEqual(push('answer:héllo:3,5'), { kind: 'hold' });
  assert.equal(answer.lingering, null);
  const reply = sent(push('', true));
  assert.equal(reply.text, 'answer:héllo:3,5\n');
  assert.equal(reply.header('content-length'), String(Buffer.byteLength(reply.text)));
  assert.equal(reply.header('content-type'), 'application/json');
  assert.equal(reply.header('x-total-tokens'), '5');
  assert.deepEqual(reply.head?.remove, [], 'a header is not set and removed at once');
});

test('a whole answer that breaks off shows nothing of its begin', () => {
  const { push, ends } = open({ stream: false });
  const reply = sent(push('answer:half|cut', true));
  assert.deepEqual([reply.text, reply.end, reply.header(':status')], ['upstream_stream_interrupted', true, '502']);
  assert.equal(ends.length, 1);
});

test('headers of the upstream that clients have no business with are taken out once each', () => {
  const upstream: HeaderPair[] = [
    [':status', '200'],
    ['set-cookie', 'a=b'],
    ['set-cookie', 'c=d'],
    ['content-length', '5'],
    ['content-encoding', 'identity'],
    ['x-request-id', 'theirs'],
    ['server', 'uvicorn'],
    ['openai-processing-ms', '5'],
    ['date', 'now'],
    ['content-type', 'text/plain'],
  ];
  const { push } = open({ upstream });
  assert.deepEqual(sent(push('out:x')).head?.remove, ['set-cookie', 'content-length', 'content-encoding', 'server']);
});

test('a stream is cut short only when the client has seen something of it', () => {
  const silent = open();
  assert.equal(silent.answer.cutShort(clientDialect.cutShort), null);
  const begun = open();
  begun.push('role');
  assert.equal(sent(begun.answer.cutShort(clientDialect.cutShort) ?? undefined).text, 'length:0\n[DONE]\n');
  const spoken = open();
  spoken.push(`out:${'x'.repeat(40)}`);
  const reply = sent(spoken.answer.cutShort(clientDialect.cutShort) ?? undefined);
  assert.deepEqual([reply.text, reply.end, reply.head], ['length:10\n[DONE]\n', true, undefined]);
  assert.deepEqual(spoken.ends, [{ kind: 'cut' }]);
  assert.equal(spoken.answer.cutShort(clientDialect.cutShort), null);
  assert.deepEqual(spoken.push('out:late', true), { kind: 'hold' });
  const whole = open({ stream: false });
  whole.push('answer:all');
  assert.equal(whole.answer.cutShort(clientDialect.cutShort), null);
});

test('fail replaces an answer that has not begun and ends one that has', () => {
  const error = new GatewayError('upstream_timeout', 'x');
  const early = open();
  assert.deepEqual([sent(early.answer.fail(error)).text, early.answer.ended], ['upstream_timeout', true]);
  const late = open();
  late.push('role');
  assert.equal(sent(late.answer.fail(error)).text, '!upstream_timeout\n[DONE]\n');
});

test('however the words of an answer are cut, it has one head, one end and nothing behind it', () => {
  const word = fc.constantFrom(
    'role',
    'out:a',
    'out:bc',
    'fin',
    'usage:3,4',
    'ping',
    'done',
    'cut',
    'error:upstream_error',
  );
  const pieces = fc.array(fc.array(word, { minLength: 1, maxLength: 3 }), { maxLength: 6 });
  fc.assert(
    fc.property(pieces, fc.boolean(), fc.boolean(), (all, includeUsage, stream) => {
      const words = all.flat();
      const { push, ends, meter } = open({ includeUsage, stream });
      const replies = [...all.map((piece) => push(piece.join('|'))), push('', true)];
      const out = replies.filter((reply) => reply.kind === 'send').map((reply) => sent(reply));
      assert.equal(out.filter((reply) => reply.head !== undefined).length, 1);
      assert.ok(out[0]?.head !== undefined, 'the first one brings the head');
      assert.deepEqual(
        out.map((reply) => reply.end),
        [...out.slice(1).map(() => false), true],
      );
      assert.equal(out.filter((reply) => reply.metadata !== undefined).length, 1);
      assert.ok(out.at(-1)?.metadata !== undefined, 'with the last piece');
      assert.equal(ends.length, 1);
      const text = out.map((reply) => reply.text).join('');
      assert.ok(text.split('[DONE]').length <= 2);
      assert.equal(text.includes('usage'), text.includes('usage') && includeUsage);
      const stop = words.findIndex((each) => ['done', 'cut', 'error:upstream_error'].includes(each));
      const before = stop === -1 ? words : words.slice(0, stop);
      const clean = stop === -1 ? before.includes('fin') : words[stop] === 'done';
      assert.equal(ends[0]?.kind, clean ? 'complete' : 'failed');
      const finishes = before.filter((each) => each === 'fin').length;
      assert.equal(meter.finishes, finishes);
    }),
    { numRuns: 500 },
  );
});
