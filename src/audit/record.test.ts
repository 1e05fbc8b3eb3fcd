import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Json } from '../core/json.ts';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';
import { writeFacts } from './facts.ts';
import { MAX_BODY } from './frame.ts';
import { bodyOf, NO_HASH, parseRecord } from './record.ts';

const facts = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' })) as fc.Arbitrary<{
  [key: string]: Json;
}>;
const frame = { chain: 'n-0-20260101T000000000Z', kind: 'request', prev: NO_HASH, seq: 3, time: 5 } as const;

test('a body written in parts is the canonical form of the whole', () => {
  fc.assert(
    fc.property(facts, (value) => {
      const body = bodyOf({ ...frame, facts: writeFacts(value) });
      assert.equal(body, canonicalJson({ ...frame, facts: value }));
      assert.deepEqual(parseRecord(Buffer.from(body)), JSON.parse(canonicalJson({ ...frame, facts: value })));
    }),
    { numRuns: 300 },
  );
});

test('only the canonical form of a record is one', () => {
  const good = bodyOf({ ...frame, facts: '{"a":1}' });
  assert.notEqual(parseRecord(Buffer.from(good)), null);
  const bad = [
    good.replace('"a":1', '"a": 1'),
    good.replace('"a":1', '"b":1,"a":1'),
    good.replace('"seq":3', '"seq":0'),
    good.replace('"seq":3', '"seq":3.5'),
    good.replace('request', 'other'),
    good.replace('{"a":1}', '[]'),
    good.replace('"time":5', '"time":5,"u":1'),
    good.replace(NO_HASH, '00'),
    good.slice(1),
    '[]',
  ];
  for (const text of bad) assert.equal(parseRecord(Buffer.from(text)), null, text);
});

test('facts without a JSON form are mended and say so', () => {
  const cycle: { [key: string]: Json } = { tenant: 'a' };
  cycle['self'] = cycle;
  for (const value of [{ text: 'a\ud800b' }, { n: Number.NaN }, { u: undefined }, { d: new Date(0) }, cycle] as {
    [key: string]: Json;
  }[]) {
    const text = writeFacts(value);
    assert.match(text, /"audit_mended":true/);
    assert.notEqual(parseRecord(Buffer.from(bodyOf({ ...frame, facts: text }))), null);
  }
  assert.equal(writeFacts({ text: 'a\ud800b' }), '{"audit_mended":true,"text":"a\ufffdb"}');
});

test('facts that are too large leave their size, hash and owner', () => {
  const text = writeFacts({ request_id: 'r1', tenant: 'acme', prompt: 'é'.repeat(MAX_BODY) });
  assert.match(
    text,
    /^\{"audit_too_large":\{"bytes":2097199,"sha256":"[0-9a-f]{64}"\},"request_id":"r1","tenant":"acme"\}$/,
  );
});

test('facts that are too large keep what a ledger is made from', () => {
  const booking = { events: [{ cost: 5, subject: 'a\ud800' }] };
  const text = writeFacts({ tenant: 'acme', booking, store_epoch: 'e', store_at: 7, prompt: 'x'.repeat(MAX_BODY) });
  const { audit_too_large: cut, ...kept } = JSON.parse(text) as Record<string, unknown>;
  assert.notEqual(cut, undefined);
  const mended = { events: [{ cost: 5, subject: 'a\ufffd' }] };
  assert.deepEqual(kept, { tenant: 'acme', booking: mended, store_epoch: 'e', store_at: 7 });
  assert.doesNotMatch(writeFacts({ booking: 'x'.repeat(MAX_BODY) }), /booking/);
});
