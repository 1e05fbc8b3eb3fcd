import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../core/error.ts';
import type { HeaderPair } from '../core/http.ts';
import { parseRequestId } from '../core/ids.ts';
import { arrive, shownIdOf } from './arrival.ts';
import { clientDialect, configOf, headOf } from './flow-kit.test.ts';

const arrived = (headers: readonly HeaderPair[] = []) =>
  arrive({
    head: headOf(headers),
    endpoint: 'chat',
    dialect: clientDialect,
    config: configOf(),
    clock: { now: () => 500, time: () => 1_700_000_000_123 },
    worker: 7,
    signalOf: () => new AbortController().signal,
  });

test('a request gets an id of ours, the times of the clock and an empty trail', () => {
  const ctx = arrived();
  assert.equal(parseRequestId(ctx.id)?.worker, 7);
  assert.equal(ctx.operation, ctx.id);
  assert.equal(ctx.shownId, ctx.id);
  assert.deepEqual([ctx.startedAt, ctx.deadline, ctx.time], [500, 30_500, 1_700_000_000_123]);
  assert.deepEqual(ctx.trail.stations(), []);
  assert.notEqual(arrived().id, ctx.id);
});

test("a client's own id is shown where it is fit, and never becomes ours", () => {
  for (const fit of ['a', 'req-1', 'A.b:c+d/e=f@g_h', 'x'.repeat(128)]) {
    const ctx = arrived([['x-request-id', fit]]);
    assert.equal(ctx.shownId, fit);
    assert.notEqual(ctx.id, fit);
  }
  for (const unfit of ['', ' ', 'a b', 'a\n', 'a\r\nb: c', 'ü', 'x'.repeat(129), 'a"b', '<script>', '\0']) {
    const ctx = arrived([['x-request-id', unfit]]);
    assert.equal(ctx.shownId, ctx.id, JSON.stringify(unfit));
  }
});

test('whatever id is shown is fit for a header and a terminal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (given) => {
      assert.match(shownIdOf(headOf([['x-request-id', given]]), 'ours'), /^[\x21-\x7e]{1,128}$/);
    }),
  );
});

test('a client may shorten or stretch its time within the bound', () => {
  const deadline = (text: string) => arrived([['x-request-timeout-ms', text]]).deadline - 500;
  assert.equal(deadline('1'), 1);
  assert.equal(deadline('45000'), 45_000);
  assert.equal(deadline('60001'), 60_000);
  assert.equal(deadline('999999999'), 60_000);
});

test('a time that is no whole number above 0 is refused', () => {
  for (const odd of ['', '0', '-1', '1.5', '1e3', ' 1', '1s', '0x10', '٣', '1000000000', 'Infinity', 'NaN', '01']) {
    assert.throws(
      () => arrived([['x-request-timeout-ms', odd]]),
      (error) =>
        error instanceof GatewayError && error.code === 'invalid_header' && error.param === 'x-request-timeout-ms',
      odd,
    );
  }
});
