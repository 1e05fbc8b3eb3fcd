import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type {
  AttemptExchange,
  RequestExchange,
  RequestPort,
  RequestReply,
  ResponseReply,
} from '../../src/core/exchange.ts';
import type { MaybePromise } from '../../src/core/maybe-promise.ts';
import { AttemptSession } from '../../src/extproc/attempt-session.ts';
import type { MessageKind } from '../../src/extproc/codec/processing-request.ts';
import { driveStream } from '../../src/extproc/drive-stream.ts';
import { RequestSession } from '../../src/extproc/request-session.ts';
import { EnvoyModel } from '../support/envoy-model.ts';
import { FakeProcessCall, message } from '../support/fake-process-call.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One letter a message; capitals go on, small ones end their direction. */
const LETTERS: Readonly<Record<string, readonly [MessageKind, boolean]>> = {
  H: ['request_headers', false],
  h: ['request_headers', true],
  B: ['request_body', false],
  b: ['request_body', true],
  T: ['request_trailers', false],
  R: ['response_headers', false],
  r: ['response_headers', true],
  D: ['response_body', false],
  d: ['response_body', true],
  t: ['response_trailers', false],
  x: ['none', false],
};

const REQUEST_ORDER = /^(h[Bb]*|HB*(T[Bb]*|b[Bb]*)?)?$/;
const RESPONSE_ORDER = /^(r[Dd]*|RD*(t[Dd]*|d[Dd]*)?)?$/;

/** Is it an order that some Envoy sends? Bodies after the end are: it sends the last one twice now and then. */
function isLegal(letters: string): boolean {
  const request = letters.replaceAll(/[^HhBbT]/g, '');
  const response = letters.replaceAll(/[^RrDdt]/g, '');
  return REQUEST_ORDER.test(request) && RESPONSE_ORDER.test(response) && !/[RrDdt].*[Hh]/.test(letters);
}

const anything = fc.array(fc.constantFrom(...Object.keys(LETTERS)), { maxLength: 9 }).map((all) => all.join(''));
const legal = fc
  .tuple(
    fc.constantFrom('h', 'Hb', 'HBb', 'HBBBb', 'HBT', 'HT', 'H', 'HB', 'hB', 'HBbb', ''),
    fc.constantFrom('', 'r', 'Rd', 'RDd', 'RDDDDd', 'Rt', 'RDt', 'RD', 'R', 'RDdd'),
    fc.integer({ min: 0, max: 6 }),
  )
  .map(([request, response, overlap]) => {
    const cut = Math.max(Math.min(1, request.length), request.length - overlap);
    return request.slice(0, cut) + response.slice(0, overlap) + request.slice(cut) + response.slice(overlap);
  });
const letters = fc.oneof({ arbitrary: anything, weight: 1 }, { arbitrary: legal, weight: 3 });

const own = { status: 429, headers: [['a', 'b']] as const, body: Buffer.from('{}'), details: 'x' };
const asked = fc.constantFrom('forward', 'forward', 'respond', 'hold', 'throw', 'early');
const told = fc.constantFrom('send', 'send', 'late', 'cut', 'big', 'hold', 'throw');
const delay = fc.constantFrom('sync', 'sync', 'async', 'reject');
const pushes = fc.constantFrom('none', 'none', 'respond', 'send');

class FakeRequest implements RequestExchange {
  closed = 0;
  broke = false;
  readonly #ask: string;
  readonly #tell: string;
  readonly #delay: string;

  constructor(ask: string, tell: string, delayed: string) {
    this.#ask = ask;
    this.#tell = tell;
    this.#delay = delayed;
  }

  onRequestHead = (_head: unknown, end: boolean): MaybePromise<RequestReply> => this.#answer(end);
  onRequestBody = (_chunk: Buffer, end: boolean): MaybePromise<RequestReply> => this.#answer(end);

  #answer(end: boolean): MaybePromise<RequestReply> {
    if (this.#ask === 'throw') {
      this.broke = true;
      throw new Error('secret');
    }
    const reply: RequestReply =
      this.#ask === 'respond'
        ? { kind: 'respond', response: own }
        : this.#ask === 'early' || (this.#ask === 'forward' && end)
          ? { kind: 'forward', mutation: { set: [['a', 'b']], metadata: { n: { id: 'x' } } } }
          : { kind: 'hold' };
    if (this.#delay === 'sync') return reply;
    if (this.#delay === 'async') return Promise.resolve(reply);
    this.broke = true;
    return Promise.reject(new Error('secret'));
  }

  onResponseHead = (_head: unknown, end: boolean): ResponseReply => {
    if (this.#tell === 'throw') {
      this.broke = true;
      throw new Error('secret');
    }
    if (this.#tell === 'late' && !end) return { kind: 'hold' };
    if (this.#tell === 'hold') return { kind: 'hold' };
    if (this.#tell === 'cut') return { kind: 'send', head: {}, chunks: [Buffer.from('over')], end: true };
    return { kind: 'send', head: { set: [[':status', '200']] }, chunks: [], end };
  };

  onResponseBody = (chunk: Buffer, end: boolean): ResponseReply => {
    if (this.#tell === 'hold' || (this.#tell === 'late' && !end)) return { kind: 'hold' };
    return { kind: 'send', chunks: this.#tell === 'big' ? [Buffer.alloc(150_000), chunk] : [chunk], end };
  };

  close = (): void => {
    this.closed++;
  };
}

/** Exactly one ending, no message out of turn, nothing leaked and nothing told of the cause. */
function assertSound(call: FakeProcessCall, envoy: EnvoyModel, opened: number, closed: number, spoken: string): void {
  assert.deepEqual([...envoy.faults, ...call.faults], [], spoken);
  assert.equal(closed, opened, `${spoken}: opened ${opened}, closed ${closed}`);
  assert.ok(!call.details.includes('secret'), 'the cause of an error went out');
}

test('any order of a request’s messages gets legal answers or a status, and no exchange leaks', async () => {
  const seen = { illegal: 0, whole: 0, replaced: 0, status: 0 };
  await fc.assert(
    fc.asyncProperty(letters, fc.boolean(), asked, told, delay, pushes, fc.boolean(), async (spoken, ...given) => {
      const [buffered, ask, tell, delayed, push, halfClose] = given;
      const call = new FakeProcessCall();
      const envoy = new EnvoyModel('request', buffered);
      const exchanges: FakeRequest[] = [];
      let port: RequestPort | null = null;
      call.listener = driveStream({
        call,
        log: quiet,
        onFault: () => {},
        onClosed: () => {},
        open: (output) =>
          new RequestSession({
            output,
            factory: (_attributes, lent) => {
              const exchange = new FakeRequest(ask, tell, delayed);
              exchanges.push(exchange);
              port = lent;
              return exchange;
            },
          }),
      });
      let read = 0;
      const look = (): void => {
        for (; read < call.written.length; read++) envoy.answered(call.written[read]!);
      };
      for (const [index, letter] of spoken.split('').entries()) {
        const [kind, end] = LETTERS[letter]!;
        const modes = index === spoken.search(/[^x]/) ? (['FULL', buffered] as const) : undefined;
        const said = message(kind, {
          end,
          body: Buffer.from('abc'),
          modes: modes && [buffered ? 'BUFFERED' : 'FULL_DUPLEX_STREAMED', 'FULL_DUPLEX_STREAMED'],
        });
        if (call.status === null) envoy.asked(said);
        call.say(said);
        look();
      }
      await settled();
      look();
      const lent = port as RequestPort | null;
      if (push === 'respond') lent?.push({ kind: 'respond', response: own });
      if (push === 'send') lent?.push({ kind: 'send', chunks: [Buffer.from('late')], end: true });
      look();
      const before = call.status;
      const answered = envoy.replaced || before !== null;
      if (halfClose) call.halfClose();
      await settled();
      call.cancel();
      call.cancel();
      look();
      assertSound(
        call,
        envoy,
        exchanges.length,
        exchanges.reduce((sum, one) => sum + one.closed, 0),
        spoken,
      );

      const broke = exchanges.some((one) => one.broke);
      if (!isLegal(spoken) && !broke && !envoy.replaced) {
        // Unless it had ended for another reason before the illegal message came.
        assert.ok(before === 3 || (before === 13 && tell === 'big'), `${spoken} is illegal and ended with ${before}`);
        seen.illegal++;
      }
      if (isLegal(spoken) && !broke && before !== null) {
        // Two legal orders cannot be served: a buffered request with trailers and no body, and pieces for an answer with
        // trailers and no body.
        const bodiless = buffered && spoken.replaceAll(/[^HhBbT]/g, '').startsWith('HT');
        const noPlace = tell === 'big' && spoken.replaceAll(/[^RrDdt]/g, '').startsWith('Rt');
        assert.ok(bodiless || noPlace, `${spoken} is legal and ended with ${before}`);
      }
      if (broke && !envoy.replaced)
        assert.ok(before === 13 || before === 3, `${spoken} broke and ended with ${before}`);
      if (before !== null) seen.status++;
      if (envoy.replaced) seen.replaced++;
      const complete = /^(h|HB*[bT])/.test(spoken.replaceAll(/[^HhBbT]/g, ''));
      if (isLegal(spoken) && complete && !answered && exchanges.length > 0 && (ask === 'forward' || ask === 'early')) {
        assert.equal(envoy.request.headers, 'answered', `${spoken}: the request’s head has no answer`);
        assert.notEqual(envoy.request.trailers, 'asked', `${spoken}: the request’s trailers have no answer`);
        if (tell !== 'hold' && /[rdt]/.test(spoken)) {
          assert.equal(envoy.response.headers, 'answered', `${spoken}: the response’s head has no answer`);
          if (tell !== 'cut') assert.notEqual(envoy.response.trailers, 'asked', `${spoken}: trailers have no answer`);
          seen.whole++;
        }
      }
    }),
    { numRuns: 20_000 },
  );
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 400, `${what} was seen ${count} times only`);
});

class FakeAttempt implements AttemptExchange {
  closed = 0;
  broke = false;
  readonly #ask: string;
  readonly #tell: string;

  constructor(ask: string, tell: string) {
    this.#ask = ask;
    this.#tell = tell;
  }

  onRequestHead: AttemptExchange['onRequestHead'] = () => {
    if (this.#ask === 'throw') {
      this.broke = true;
      throw new Error('secret');
    }
    if (this.#ask === 'respond') return { kind: 'respond', response: own };
    const reply = { kind: 'replace', mutation: { set: [['a', 'b']] }, body: Buffer.from('{}'), watch: 'body' } as const;
    return this.#ask === 'async' ? Promise.resolve(reply) : reply;
  };

  onResponseHead: AttemptExchange['onResponseHead'] = () =>
    this.#tell === 'head' ? { kind: 'continue', mutation: { set: [[':status', '503']] } } : { kind: 'hold' };

  onResponseBody: AttemptExchange['onResponseBody'] = () => {
    const reply = this.#tell === 'hold' ? ({ kind: 'hold' } as const) : ({ kind: 'continue', mutation: {} } as const);
    return this.#tell === 'async' ? Promise.resolve(reply) : reply;
  };

  close = (): void => {
    this.closed++;
  };
}

test('any order of a try’s messages gets legal answers or a status, and no body is ever answered', async () => {
  const order = fc.oneof(
    fc.constantFrom('h', 'H', 'HRDd', 'hRd', 'HRDDDd', 'hr', 'HR', 'HRd', 'Rd', 'R'),
    fc.array(fc.constantFrom('H', 'h', 'R', 'r', 'D', 'd', 'B', 't', 'x'), { maxLength: 6 }).map((all) => all.join('')),
  );
  await fc.assert(
    fc.asyncProperty(
      order,
      fc.boolean(),
      fc.constantFrom('sync', 'sync', 'async', 'respond', 'throw'),
      fc.constantFrom('head', 'body', 'hold', 'async'),
      fc.constantFrom('sync', 'async', 'unknown'),
      fc.boolean(),
      async (spoken, watched, ask, tell, made, halfClose) => {
        const call = new FakeProcessCall();
        const envoy = new EnvoyModel('attempt', false);
        const exchanges: FakeAttempt[] = [];
        call.listener = driveStream({
          call,
          log: quiet,
          onFault: () => {},
          onClosed: () => {},
          open: (output) =>
            new AttemptSession({
              output,
              id: 'x',
              factory: () => {
                if (made === 'unknown') throw new Error('secret');
                const exchange = new FakeAttempt(ask, tell);
                exchanges.push(exchange);
                return made === 'async' ? Promise.resolve(exchange) : exchange;
              },
            }),
        });
        for (const [index, letter] of spoken.split('').entries()) {
          const [kind, end] = LETTERS[letter]!;
          const first = index === spoken.search(/[^x]/);
          const said = message(kind, { end, modes: first ? ['NONE', watched ? 'STREAMED' : 'NONE'] : undefined });
          if (call.status === null) envoy.asked(said);
          call.say(said);
        }
        await settled();
        for (const answer of call.written) envoy.answered(answer);
        const before = call.status;
        if (halfClose) call.halfClose();
        await settled();
        call.cancel();
        assertSound(
          call,
          envoy,
          exchanges.length,
          exchanges.reduce((sum, one) => sum + one.closed, 0),
          spoken,
        );
        if (!isLegal(spoken) && before === null) assert.ok(envoy.replaced, `${spoken} is illegal and went through`);
        if (before === 0) {
          assert.ok(watched, 'a try that watches no body ended its stream');
          assert.equal(envoy.response.headers, 'answered');
        }
        if (made === 'unknown' && /^[Hh]/.test(spoken)) assert.equal(before, 13, 'an unknown try went through');
        if (isLegal(spoken) && /^[Hh]r?$|^[Hh]RD*d$/.test(spoken) && before !== 13 && !envoy.replaced) {
          assert.equal(envoy.request.headers, 'answered');
          if (/[rd]/.test(spoken) && watched) assert.equal(envoy.response.headers, 'answered', spoken);
        }
      },
    ),
    { numRuns: 6000 },
  );
});
