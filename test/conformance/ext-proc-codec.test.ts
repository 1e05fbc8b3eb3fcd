import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Json } from '../../src/core/json.ts';
import { decodeHealthCheckRequest, encodeHealthCheckResponse } from '../../src/extproc/codec/health-check.ts';
import { MalformedMessage } from '../../src/extproc/codec/malformed-message.ts';
import {
  BODY_MODES,
  decodeProcessingRequest,
  deserializeProcessingRequest,
} from '../../src/extproc/codec/processing-request.ts';
import { encodeProcessingResponse, type ProcessingResponse } from '../../src/extproc/codec/processing-response.ts';
import { referenceCheck, referenceProcess, referenceStruct } from '../support/ext-proc-reference.ts';

const RUNS = { numRuns: 5000 } as const;
const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((array) => Buffer.from(array));
/** `__proto__` is left to the hand-made cases: the loader itself cannot carry it. */
const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => value !== '__proto__');
const header = fc.tuple(fc.string({ unit: 'grapheme-ascii', maxLength: 24 }), bytes(40));
const headers = fc.array(header, { maxLength: 12 });
const json = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), fc.double({ noNaN: true }), text),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(text, tie('json'), { maxKeys: 4 }),
  ),
})).json;
const struct = fc.dictionary(text, json, { maxKeys: 4 });

/** A plain copy: the reader's objects have no prototype, and -0 is 0 to JSON but not to a double. */
const plain = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(plain)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
      : value;

const asMap = (pairs: readonly (readonly [string, Buffer])[]) => ({
  headers: pairs.map(([key, raw]) => ({ key, raw_value: raw })),
});
const asPairs = (pairs: readonly (readonly [string, Buffer])[]) =>
  pairs.map(([key, raw]) => [key, raw.toString('latin1')]);

const part = fc.oneof(
  fc.record({
    kind: fc.constantFrom('request_headers', 'response_headers'),
    headers,
    end: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('request_body', 'response_body'), body: bytes(300), end: fc.boolean() }),
  fc.record({ kind: fc.constantFrom('request_trailers', 'response_trailers'), headers }),
);
const protocol = fc.record({
  request: fc.constantFrom(...BODY_MODES),
  response: fc.constantFrom(...BODY_MODES),
  eager: fc.boolean(),
});

test('what the reference encodes, ours decodes alike', () => {
  fc.assert(
    fc.property(
      part,
      fc.option(protocol),
      fc.option(struct),
      fc.option(fc.dictionary(text, struct, { maxKeys: 3 })),
      (given, mode, attributes, metadata) => {
        const inner =
          'body' in given
            ? { body: given.body, end_of_stream: given.end }
            : 'end' in given
              ? { headers: asMap(given.headers), end_of_stream: given.end }
              : { trailers: asMap(given.headers) };
        const wire = referenceProcess.requestSerialize({
          [given.kind]: inner,
          ...(mode && {
            protocol_config: {
              request_body_mode: mode.request,
              response_body_mode: mode.response,
              send_body_without_waiting_for_header_response: mode.eager,
            },
          }),
          ...(attributes && { attributes: { 'envoy.filters.http.ext_proc': referenceStruct(attributes) } }),
          ...(metadata && {
            metadata_context: {
              filter_metadata: Object.fromEntries(
                Object.entries(metadata).map(([name, value]) => [name, referenceStruct(value)]),
              ),
            },
          }),
        });
        const message = decodeProcessingRequest(wire);
        assert.equal(message.kind, given.kind);
        assert.deepEqual(message.headers, 'headers' in given ? asPairs(given.headers) : []);
        assert.deepEqual(Buffer.from(message.body), 'body' in given ? given.body : Buffer.alloc(0));
        assert.equal(message.endOfStream, 'end' in given ? given.end : false);
        assert.deepEqual(
          message.protocol,
          mode && { requestBody: mode.request, responseBody: mode.response, eagerBody: mode.eager },
        );
        const texts = Object.entries(attributes ?? {}).flatMap(([key, value]) =>
          typeof value === 'object' ? [] : [[key, String(value)] as const],
        );
        assert.deepEqual(plain(message.attributes()), Object.fromEntries(texts));
        for (const [name, value] of Object.entries(metadata ?? {})) {
          assert.deepEqual(plain(message.metadata(name)), plain(value));
        }
        assert.equal(message.metadata('nowhere-to-be-found-at-all'), undefined);
      },
    ),
    RUNS,
  );
});

const latin1 = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => Buffer.from(value).toString('latin1'));
const pairs = fc.array(fc.tuple(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), latin1), { maxLength: 8 });
const names = fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), { maxLength: 5 });
const change = fc.record(
  {
    replace: fc.constant(true),
    set: pairs,
    remove: names,
    body: fc.oneof(
      fc.record({ kind: fc.constant('whole' as const), bytes: bytes(400) }),
      fc.record({ kind: fc.constant('piece' as const), bytes: bytes(400), end: fc.boolean() }),
    ),
    clearRouteCache: fc.constant(true),
  },
  { requiredKeys: [] },
);
const metadata = fc.dictionary(text, struct, { maxKeys: 3 });
const response: fc.Arbitrary<ProcessingResponse> = fc.oneof(
  fc.record(
    {
      kind: fc.constantFrom('request_headers', 'response_headers', 'request_body', 'response_body'),
      change,
      metadata,
    },
    { requiredKeys: ['kind', 'change'] },
  ),
  fc.record({ kind: fc.constantFrom('request_trailers', 'response_trailers'), metadata }, { requiredKeys: ['kind'] }),
  fc.record(
    {
      kind: fc.constant('immediate_response' as const),
      response: fc.record({
        status: fc.integer({ min: 200, max: 599 }),
        headers: pairs,
        body: bytes(300),
        details: text,
      }),
      metadata,
    },
    { requiredKeys: ['kind', 'response'] },
  ),
);

const setHeaders = (set: readonly (readonly [string, string])[]) =>
  set.map(([key, value]) => ({ header: { key, raw_value: Buffer.from(value, 'latin1') } }));

/** The same answer as an object of the reference. */
function asReference(message: ProcessingResponse): object {
  const told = message.metadata === undefined ? {} : { dynamic_metadata: referenceStruct(message.metadata) };
  if (message.kind === 'immediate_response') {
    const { status, headers: set, body, details } = message.response;
    return {
      immediate_response: {
        status: { code: status },
        ...(set.length > 0 && { headers: { set_headers: setHeaders(set) } }),
        body,
        details,
      },
      ...told,
    };
  }
  if (!('change' in message)) return { [message.kind]: {}, ...told };
  const { replace, set = [], remove = [], body, clearRouteCache } = message.change;
  return {
    [message.kind]: {
      response: {
        ...(replace && { status: 'CONTINUE_AND_REPLACE' }),
        ...(set.length + remove.length > 0 && {
          header_mutation: { set_headers: setHeaders(set), remove_headers: [...remove] },
        }),
        ...(body && {
          body_mutation:
            body.kind === 'whole'
              ? { body: body.bytes }
              : { streamed_response: { body: body.bytes, end_of_stream: body.end } },
        }),
        ...(clearRouteCache && { clear_route_cache: true }),
      },
    },
    ...told,
  };
}

test('what ours encodes, the reference decodes alike', () => {
  fc.assert(
    fc.property(response, (message) => {
      const mine = encodeProcessingResponse(message);
      assert.ok(Buffer.isBuffer(mine));
      const theirs = referenceProcess.responseSerialize(asReference(message));
      // By value and not by byte: the reference writes defaults that it was given, and fields in any order.
      const normal = (wire: Buffer): object =>
        referenceProcess.responseDeserialize(referenceProcess.responseSerialize(withoutDefaults(wire)));
      assert.deepEqual(normal(mine), normal(theirs));
    }),
    RUNS,
  );
});

/** Decoded, with `false`, empty bytes and 0 gone wherever proto3 does not tell them from absent. */
function withoutDefaults(wire: Buffer): object {
  const strip = (value: unknown, key: string): unknown => {
    if (Buffer.isBuffer(value)) return value.length === 0 && key !== 'body_mutation.body' ? undefined : value;
    if (Array.isArray(value)) return value.map((inner) => strip(inner, key));
    if (typeof value !== 'object' || value === null) return value === false && key !== 'boolValue' ? undefined : value;
    const entries = Object.entries(value).flatMap(([name, inner]) => {
      const kept = strip(inner, key === 'body_mutation' ? `${key}.${name}` : name);
      return kept === undefined ? [] : [[name, kept] as const];
    });
    return Object.fromEntries(entries);
  };
  return strip(referenceProcess.responseDeserialize(wire), '') as object;
}

/** A length-delimited field by hand. */
function field(tag: number, inner: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = inner.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest);
      break;
    }
    length.push((rest & 0x7f) | 0x80);
  }
  return Buffer.concat([Buffer.from([tag, ...length]), inner]);
}

test('unknown fields are passed over, at every level', () => {
  const unknown = Buffer.concat([
    Buffer.from([0xf8, 0x07, 0x01]), // field 127, varint
    Buffer.from([0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8]), // fixed64
    Buffer.from([0xfa, 0x07, 2, 9, 9]), // bytes
    Buffer.from([0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07]), // group
    Buffer.from([0xfd, 0x07, 1, 2, 3, 4]), // fixed32
  ]);
  const nest = (tag: number, inner: Buffer): Buffer => Buffer.concat([unknown, field(tag, inner), unknown]);
  const value = Buffer.from([0x0a, 1, 0x61, 0x1a, 1, 0x62]);
  const message = decodeProcessingRequest(nest(0x12, nest(0x0a, nest(0x0a, Buffer.concat([unknown, value])))));
  assert.deepEqual(message.headers, [['a', 'b']]);
  assert.equal(message.kind, 'request_headers');
});

test('flow control of newer Envoys and an empty message are no kind that wants an answer', () => {
  assert.equal(decodeProcessingRequest(Buffer.alloc(0)).kind, 'none');
  assert.equal(decodeProcessingRequest(Buffer.from([0x62, 2, 0x08, 1])).kind, 'none');
  assert.equal(decodeProcessingRequest(Buffer.from([0x6a, 0])).kind, 'none');
});

test('a key __proto__ stays a key', () => {
  const value = field(0x12, field(0x1a, Buffer.from('x')));
  const entry = field(0x0a, Buffer.concat([field(0x0a, Buffer.from('__proto__')), value]));
  const named = [field(0x0a, Buffer.from('envoy.filters.http.ext_proc')), field(0x12, entry)];
  const attributes = decodeProcessingRequest(field(0x4a, Buffer.concat(named))).attributes();
  assert.deepEqual(Object.keys(attributes), ['__proto__']);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('any bytes are a message or a MalformedMessage, and nothing else', () => {
  let malformed = 0;
  const whole = referenceProcess.requestSerialize({
    request_headers: { headers: asMap([['a', Buffer.from('b')]]), end_of_stream: true },
    attributes: { 'envoy.filters.http.ext_proc': referenceStruct({ a: [1, { b: null }] }) },
  });
  fc.assert(
    fc.property(fc.oneof(bytes(60), fc.tuple(fc.nat(whole.length), bytes(3))), (given) => {
      const wire = Buffer.isBuffer(given)
        ? given
        : Buffer.concat([whole.subarray(0, given[0]), given[1], whole.subarray(given[0] + given[1].length)]);
      const message = deserializeProcessingRequest(wire);
      if (message instanceof MalformedMessage) malformed++;
      else {
        try {
          message.attributes();
          message.metadata('x');
        } catch (reason) {
          assert.ok(reason instanceof MalformedMessage);
        }
      }
    }),
    RUNS,
  );
  assert.ok(malformed > 100, `only ${malformed} malformed`);
});

test('nesting is bounded: groups, structs and lists', () => {
  assert.throws(() => decodeProcessingRequest(Buffer.alloc(100_000, 0xfb)), MalformedMessage);
  const key = field(0x0a, Buffer.from('envoy.filters.http.ext_proc'));
  for (const kind of ['struct', 'list']) {
    let value = field(0x1a, Buffer.from('x'));
    for (let depth = 0; depth < 300; depth++) {
      value =
        kind === 'list'
          ? field(0x32, field(0x0a, value))
          : field(0x2a, field(0x0a, Buffer.concat([field(0x0a, Buffer.from('a')), field(0x12, value)])));
    }
    const struct = field(0x0a, Buffer.concat([field(0x0a, Buffer.from('a')), field(0x12, value)]));
    const message = decodeProcessingRequest(field(0x4a, Buffer.concat([key, field(0x12, struct)])));
    assert.throws(() => message.attributes(), /nested too deep/);
  }
});

test('the health check speaks as the reference does', () => {
  assert.deepEqual(decodeHealthCheckRequest(referenceCheck.requestSerialize({ service: 'x.y' })), { service: 'x.y' });
  assert.deepEqual(decodeHealthCheckRequest(referenceCheck.requestSerialize({})), { service: '' });
  assert.ok(decodeHealthCheckRequest(Buffer.from([0x0a, 200])) instanceof MalformedMessage);
  assert.deepEqual(referenceCheck.responseDeserialize(encodeHealthCheckResponse(true)), { status: 'SERVING' });
  assert.deepEqual(referenceCheck.responseDeserialize(encodeHealthCheckResponse(false)), { status: 'NOT_SERVING' });
});
