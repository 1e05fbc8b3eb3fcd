import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { PickExchange, Picked } from '../core/pick.ts';
import { type BodyMode, type MessageKind, ProcessingRequest } from './codec/processing-request.ts';
import type { ProcessingResponse } from './codec/processing-response.ts';
import { PickSession } from './pick-session.ts';

const PICKED: Picked = { kind: 'picked', addresses: ['10.0.0.1:80', '10.0.0.2:80'] };
const REFUSED: Picked = {
  kind: 'refused',
  response: { status: 503, headers: [], body: Buffer.from('no'), details: 'no_candidate' },
};
const LIST = '10.0.0.1:80,10.0.0.2:80';

class Message extends ProcessingRequest {
  namespaces: Readonly<Record<string, Readonly<Record<string, string | readonly string[] | null>>>> = {};

  override metadata(namespace: string) {
    return this.namespaces[namespace] as ReturnType<ProcessingRequest['metadata']>;
  }
}

function message(kind: MessageKind, changes: Partial<Message> = {}): ProcessingRequest {
  return Object.assign(new Message(), { kind, ...changes });
}

function rig(request: BodyMode, { response = request, picked = PICKED, bodyBytes = 100 } = {}) {
  const sent: ProcessingResponse[] = [];
  const calls: string[] = [];
  const subsets: (readonly string[] | null)[] = [];
  const exchange: PickExchange = {
    pick(body) {
      calls.push(`pick ${body === null ? 'unseen' : body.toString()}`);
      return picked;
    },
    onResponseHead: ({ status }, served, seesBody) => calls.push(`head ${status} ${served} ${seesBody}`),
    onResponseBody: (chunk) => calls.push(`body ${chunk.toString()}`),
    onResponseEnd: () => calls.push('end'),
    close: () => calls.push('close'),
  };
  const session = new PickSession({
    factory: (_head, subset) => {
      subsets.push(subset === null ? null : [...subset]);
      return exchange;
    },
    output: { send: (one) => sent.push(one), finish() {}, guard: (step) => step() },
    bodyBytes,
  });
  let isFirst = true;
  const receive = (kind: MessageKind, changes: Partial<Message> = {}): void => {
    const protocol = isFirst ? { requestBody: request, responseBody: response, eagerBody: false } : null;
    isFirst = false;
    session.receive(message(kind, { protocol, ...changes }));
  };
  return { session, sent, calls, subsets, receive, kinds: () => sent.map(({ kind }) => kind) };
}

const headAnswer = (sent: readonly ProcessingResponse[], kind: ProcessingResponse['kind']) =>
  sent.find((one) => one.kind === kind && 'change' in one && (one.change.set?.length ?? 0) > 0);

test('the answer names the endpoints by header and metadata, and lets the route be chosen again', () => {
  for (const [mode, kind] of [
    ['NONE', 'request_headers'],
    ['STREAMED', 'request_headers'],
    ['BUFFERED', 'request_body'],
    ['FULL_DUPLEX_STREAMED', 'request_headers'],
  ] as const) {
    const { sent, receive } = rig(mode);
    receive('request_headers');
    if (mode !== 'NONE') receive('request_body', { body: Buffer.from('b'), endOfStream: true });
    assert.deepEqual(
      headAnswer(sent, kind),
      {
        kind,
        change: { set: [['x-gateway-destination-endpoint', LIST]], clearRouteCache: true },
        metadata: { 'envoy.lb': { 'x-gateway-destination-endpoint': LIST } },
      },
      mode,
    );
    // One answer a message, and full duplex as many pieces as there are.
    assert.equal(sent.length, mode === 'NONE' ? 1 : 2, mode);
  }
});

test('in full duplex the head waits for the body, and every byte goes on in order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 0, max: 120 }),
      fc.boolean(),
      (chunks, bodyBytes, hasTrailers) => {
        const { sent, calls, receive } = rig('FULL_DUPLEX_STREAMED', { bodyBytes });
        receive('request_headers');
        chunks.forEach((body, at) =>
          receive('request_body', {
            body: Buffer.from(body),
            endOfStream: !hasTrailers && at === chunks.length - 1,
          }),
        );
        if (hasTrailers) receive('request_trailers');
        assert.equal(sent[0]?.kind, 'request_headers');
        const pieces = sent.flatMap((one) =>
          one.kind === 'request_body' && one.change.body?.kind === 'piece' ? [one.change.body] : [],
        );
        assert.deepEqual(Buffer.concat(pieces.map(({ bytes }) => bytes)), Buffer.concat(chunks));
        assert.deepEqual(
          pieces.map(({ end }) => end),
          pieces.map((_, at) => !hasTrailers && at === pieces.length - 1),
        );
        assert.equal(sent.at(-1)?.kind, hasTrailers ? 'request_trailers' : 'request_body');
        const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        assert.equal(calls.length, 1);
        assert.equal(calls[0] === 'pick unseen', length > bodyBytes);
      },
    ),
  );
});

test('a refusal is the last word', () => {
  const { sent, session, receive, kinds } = rig('FULL_DUPLEX_STREAMED', { picked: REFUSED });
  receive('request_headers');
  assert.equal(session.owes(), true);
  receive('request_body', { body: Buffer.from('b'), endOfStream: true });
  receive('response_headers', { headers: [[':status', '503']], endOfStream: true });
  assert.deepEqual(kinds(), ['immediate_response']);
  assert.equal(sent[0]?.kind === 'immediate_response' && sent[0].response.status, 503);
  assert.equal(session.owes(), false);
});

test('the subset is read from the metadata; none is another thing than an empty one', () => {
  const key = 'x-gateway-destination-endpoint-subset';
  for (const [hint, subset] of [
    [undefined, null],
    [[], []],
    [
      ['a:1', 'b:2'],
      ['a:1', 'b:2'],
    ],
    ['a:1, b:2', ['a:1', 'b:2']],
    [null, null],
  ] as const) {
    const { subsets, receive } = rig('NONE');
    const namespaces = hint === undefined ? {} : { 'envoy.lb.subset_hint': { [key]: hint } };
    receive('request_headers', { namespaces });
    assert.deepEqual(subsets, [subset]);
  }
});

test('the answer passes, and who gave it is told', () => {
  const served = { 'envoy.lb': { 'x-gateway-destination-endpoint-served': '10.0.0.2:80' } };
  const full = rig('FULL_DUPLEX_STREAMED');
  full.receive('request_headers', { endOfStream: true });
  full.receive('response_headers', { headers: [[':status', '200']], namespaces: served });
  full.receive('response_body', { body: Buffer.from('one') });
  full.receive('response_body', { endOfStream: true });
  full.session.close();
  assert.deepEqual(full.calls, ['pick unseen', 'head 200 10.0.0.2:80 true', 'body one', 'body ', 'end', 'close']);
  assert.deepEqual(full.sent.slice(2), [
    { kind: 'response_body', change: { body: { kind: 'piece', bytes: Buffer.from('one'), end: false } } },
    { kind: 'response_body', change: { body: { kind: 'piece', bytes: Buffer.alloc(0), end: true } } },
  ]);
  const unseen = rig('NONE');
  unseen.receive('request_headers', { endOfStream: true });
  unseen.receive('response_headers', { headers: [[':status', '500']] });
  assert.deepEqual(unseen.calls, ['pick unseen', 'head 500 null false']);
  const streamed = rig('STREAMED');
  streamed.receive('request_headers', { endOfStream: true });
  streamed.receive('response_headers', { headers: [[':status', '200']] });
  streamed.receive('response_body', { body: Buffer.from('x'), endOfStream: true });
  assert.deepEqual(streamed.sent.at(-1), { kind: 'response_body', change: {} });
});

test('an answer without a question passes untouched', () => {
  const { sent, receive } = rig('FULL_DUPLEX_STREAMED');
  receive('response_headers', { headers: [[':status', '403']], endOfStream: true });
  assert.deepEqual(sent, [{ kind: 'response_headers', change: {} }]);
});
