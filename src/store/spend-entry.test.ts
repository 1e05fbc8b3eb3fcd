import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LedgerEvent } from '../core/ledger-event.ts';
import { serializeEntry, spendEntryOf } from './spend-entry.ts';

const EVENT = {
  requestId: 'r',
  operation: 'o',
  chargedTo: 'tenant',
  model: 'm',
  backend: 'b',
  businessLine: 'l',
  requestType: 'chat',
  promptTokens: 5,
  cachedTokens: 1,
  completionTokens: 2,
  cost: 9,
  currency: 'USD',
  time: Date.parse('2028-02-29T23:30Z'),
} as LedgerEvent;

test('an entry is of the hour and the day, in the zone, of its event', () => {
  const hour = Date.parse('2028-02-29T23:00Z') / 1000;
  assert.deepEqual(spendEntryOf(EVENT), {
    hour,
    day: Date.parse('2028-02-29T00:00Z') / 1000,
    sums: [1, 5, 1, 2, 9],
    head: '"m","b","l","chat"',
    tail: '"tenant","USD"',
    top: '["r","m","b","l",1835479800000,7,"USD","o"]',
  });
  assert.equal(spendEntryOf(EVENT, 'Europe/Berlin').day, hour);
  const gone = spendEntryOf({ ...EVENT, chargedTo: 'gateway' });
  assert.deepEqual([gone.sums[0], gone.top], [0, '']);
});

test('no name can end a field or a line, and the row’s name is read back as JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.string(), (model, businessLine) => {
      const text = serializeEntry(spendEntryOf({ ...EVENT, model: `\t\n${model}`, businessLine }));
      const fields = text.split('\t');
      assert.equal(fields.length, 10);
      assert.ok(!text.includes('\n'));
      const [named, , line] = JSON.parse(`[${fields[7]},${fields[8]}]`) as string[];
      assert.equal(named, `\t\n${model}`.slice(0, 128));
      assert.equal(line, businessLine.slice(0, 128));
    }),
    { numRuns: 300 },
  );
});
