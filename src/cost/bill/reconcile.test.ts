import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import { costOf, formatMicroUnits, microUnits, type Price } from '../../core/money.ts';
import { ledgerEvent } from '../cost-kit.test.ts';
import { reconcile, type ReconcileOptions } from './reconcile.ts';

const HOUR = 3_600_000;
const DAY = Date.UTC(2026, 5, 1);
const PRICE: Price = {
  currency: 'USD',
  promptPerMtok: microUnits(2_000_000),
  cachedPerMtok: microUnits(500_000),
  completionPerMtok: microUnits(8_000_000),
};

/** A booking at `hours` after the first day's begin, priced by `PRICE`. */
function booked(hours: number, over: Parameters<typeof ledgerEvent>[0] = {}): LedgerEvent {
  const event = ledgerEvent({
    time: DAY + hours * HOUR,
    promptTokens: 1000,
    cachedTokens: 400,
    completionTokens: 100,
    ...over,
  });
  const usage = {
    prompt: event.promptTokens,
    cached: event.cachedTokens,
    completion: event.completionTokens,
    reasoning: 0,
  };
  return over.cost === undefined ? { ...event, cost: costOf({ ...usage, source: 'upstream' }, PRICE) } : event;
}

type Line = readonly [day: string, model: string, input: number, cached: number | '', output: number, cost: string];
const billOf = (...lines: readonly Line[]): string =>
  ['date,model,input_tokens,cached_tokens,output_tokens,cost', ...lines.map((line) => line.join(','))].join('\n');

async function reasons(bill: string, ledger: readonly LedgerEvent[], over: Partial<ReconcileOptions> = {}) {
  const rows = await reconcile({ bill, ledger, mapping: 'generic', priceOf: () => PRICE, ...over });
  return rows.map(({ day, model, reason }) => [day, model, reason]);
}

const D1 = '2026-06-01';
const D2 = '2026-06-02';

test('what agrees has no reason, and the figures stand side by side', async () => {
  const rows = await reconcile({
    bill: billOf([D1, 'gpt-x-2026', 2000, 800, 200, '0.0044']),
    ledger: [booked(1), booked(23.9)],
    mapping: 'generic',
    models: { 'gpt-x-2026': 'm' },
  });
  assert.deepEqual(rows, [
    {
      day: D1,
      model: 'm',
      currency: 'USD',
      bill: { input: 2000, cached: 800, output: 200, cost: 4400 },
      ledger: { input: 2000, cached: 800, output: 200, cost: 4400 },
      failedAttempts: { events: 0, input: 0, output: 0, cost: 0 },
      difference: { input: 0, cached: 0, output: 0, cost: 0 },
      estimatedTokens: 0,
      reason: null,
      utcOffsetMinutes: null,
    },
  ]);
});

test('a day or a model that only one side has', async () => {
  const bill = billOf([D1, 'm', 1000, 400, 100, '0.0022'], [D2, 'm', 5, 0, 5, '1']);
  assert.deepEqual(await reasons(bill, [booked(1), booked(2, { model: 'other' }), booked(3, { model: '', cost: 0 })]), [
    [D1, 'm', null],
    [D1, 'other', 'missing_in_bill'],
    [D2, 'm', 'missing_in_ledger'],
  ]);
  const idle = booked(3, { promptTokens: 0, cachedTokens: 0, completionTokens: 0, cost: 0 });
  assert.deepEqual(await reasons(billOf(), [idle]), [[D1, 'm', null]]);
});

test('the same tokens at another cost', async () => {
  const ledger = [booked(1)];
  const cost = (text: string, cached: number | '' = 400) => reasons(billOf([D1, 'm', 1000, cached, 100, text]), ledger);
  assert.deepEqual(await cost('0.0022'), [[D1, 'm', null]]);
  assert.deepEqual(await cost('0.002201'), [[D1, 'm', 'rounding']]);
  assert.deepEqual(await cost('0.002'), [[D1, 'm', 'rounding']]);
  assert.deepEqual(await cost('0.0028'), [[D1, 'm', 'cached_priced_as_prompt']]);
  assert.deepEqual(await cost('0.0033'), [[D1, 'm', 'price_differs']]);
  assert.deepEqual(await cost('0.0030', 0), [[D1, 'm', 'cached_priced_as_prompt']]);
  assert.deepEqual(await cost('0.0022', 300), [[D1, 'm', 'tokens_differ']]);
  assert.deepEqual(await reasons(billOf([D1, 'm', 1000, 400, 100, '0.0028']), ledger, { priceOf: () => undefined }), [
    [D1, 'm', 'price_differs'],
  ]);
});

test('estimates and tries that failed explain tokens, as far as they go', async () => {
  const estimate = booked(1, { estimated: true });
  assert.deepEqual(await reasons(billOf([D1, 'm', 1100, 400, 50, '0.003']), [estimate]), [
    [D1, 'm', 'estimate_in_ledger'],
  ]);
  assert.deepEqual(await reasons(billOf([D1, 'm', 5000, 400, 50, '0.003']), [estimate]), [[D1, 'm', 'tokens_differ']]);
  const failed = booked(2, { chargedTo: 'gateway', promptTokens: 300, cachedTokens: 0, completionTokens: 7 });
  const both = [booked(1), failed];
  assert.deepEqual(await reasons(billOf([D1, 'm', 1300, 400, 107, '0.003']), both), [
    [D1, 'm', 'failed_attempts_billed'],
  ]);
  assert.deepEqual(await reasons(billOf([D1, 'm', 1000, 400, 100, '0.0022']), both), [[D1, 'm', null]]);
  const untold = booked(2, { chargedTo: 'gateway', promptTokens: 0, cachedTokens: 0, completionTokens: 0, cost: 0 });
  assert.deepEqual(await reasons(billOf([D1, 'm', 1900, 400, 100, '0.004']), [booked(1), untold]), [
    [D1, 'm', 'failed_attempts_billed'],
  ]);
  assert.deepEqual(await reasons(billOf([D1, 'm', 900, 400, 100, '0.002']), [booked(1), untold]), [
    [D1, 'm', 'tokens_differ'],
  ]);
  assert.deepEqual(await reasons(billOf([D1, 'm', 300, 0, 7, '0.0007']), [failed]), [
    [D1, 'm', 'failed_attempts_billed'],
  ]);
});

test('days of another zone are found, and which one', async () => {
  const ledger = [1, 5, 20, 23, 26, 30, 47, 50, 60, 71].map((hours, at) => booked(hours, { promptTokens: 1000 + at }));
  const inZone = (offsetHours: number): string => {
    const days = new Map<string, number[]>();
    for (const event of ledger) {
      const day = new Date(event.time + offsetHours * HOUR).toISOString().slice(0, 10);
      const [input = 0, cost = 0, count = 0] = days.get(day) ?? [];
      days.set(day, [input + event.promptTokens, cost + event.cost, count + 1]);
    }
    return billOf(
      ...[...days].map(
        ([day, [input = 0, cost = 0, count = 0]]) =>
          [day, 'm', input, count * 400, count * 100, formatMicroUnits(microUnits(cost))] as const,
      ),
    );
  };
  for (const [offset, found] of [
    [-5, -300],
    [9, 300],
  ] as const) {
    const rows = await reconcile({ bill: inZone(offset), ledger, mapping: 'generic' });
    assert.ok(
      rows.every(({ reason }) => reason === 'timezone_shift' || reason === null),
      JSON.stringify(rows),
    );
    const told = rows.find(({ reason }) => reason === 'timezone_shift')?.utcOffsetMinutes ?? 0;
    // Any zone that gives the same days will do; of those the nearest is told.
    assert.equal(Math.sign(told), Math.sign(found));
    assert.deepEqual(
      (await reconcile({ bill: inZone(offset), ledger, mapping: 'generic', utcOffsetMinutes: told })).map(
        ({ reason }) => reason,
      ),
      rows.map(() => null),
    );
  }
  const unlike = await reasons(inZone(-5).replace(/(?<=02,m,)\d+/, '1'), ledger);
  assert.ok(unlike.every(([, , reason]) => reason !== 'timezone_shift'));
});

test('a charge that was taken back counts for nothing', async () => {
  const expiry = booked(1, {
    attempt: 0,
    estimated: true,
    promptTokens: 50,
    cachedTokens: 0,
    completionTokens: 900,
  });
  const { promptTokens, completionTokens, cost } = expiry;
  const back = {
    ...expiry,
    promptTokens: -promptTokens,
    completionTokens: -completionTokens,
    cost: microUnits(0 - cost),
  };
  const rows = await reconcile({
    bill: billOf([D1, 'm', 1000, 400, 100, '0.0022']),
    ledger: [expiry, back, booked(2)],
    mapping: 'generic',
  });
  assert.deepEqual([rows[0]?.reason, rows[0]?.estimatedTokens], [null, 0]);
});

test('currencies are kept apart, and a mapping of one’s own is taken', async () => {
  const bill = 'Tag;Modell;Ein;Aus;Preis;W\n2026-06-01;m;1000;100;0.0022;eur\n';
  const mapping = {
    date: ['tag'],
    model: ['modell'],
    inputTokens: ['ein'],
    cachedTokens: [],
    outputTokens: ['aus'],
    cost: ['preis'],
    currency: ['w'],
    separator: ';',
  };
  assert.deepEqual(await reasons(bill, [booked(1, { currency: 'EUR' })], { mapping }), [[D1, 'm', null]]);
  assert.deepEqual(await reasons(bill, [booked(1)], { mapping }), [
    [D1, 'm', 'missing_in_ledger'],
    [D1, 'm', 'missing_in_bill'],
  ]);
});

test('a bill made of the ledger agrees with it, and one changed token is seen', async () => {
  const event = fc.record({
    hours: fc.integer({ min: 0, max: 71 }),
    promptTokens: fc.integer({ min: 1, max: 5000 }),
    completionTokens: fc.nat(500),
    model: fc.constantFrom('a', 'b', '__proto__'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (made) => {
      const ledger = made.map(({ hours, ...over }) => booked(hours, { ...over, cachedTokens: 0 }));
      const lines = ledger.map((one): Line => [
        new Date(one.time).toISOString().slice(0, 10),
        one.model,
        one.promptTokens,
        0,
        one.completionTokens,
        formatMicroUnits(one.cost),
      ]);
      assert.ok((await reasons(billOf(...lines), ledger)).every(([, , reason]) => reason === null));
      const [[day, model, input, ...rest] = [] as unknown as Line, ...others] = lines;
      const changed = await reasons(billOf([day, model, input + 100_000, ...rest], ...others), ledger);
      assert.equal(changed.filter(([, , reason]) => reason !== null).length, 1);
      assert.deepEqual(
        changed.find(([, , reason]) => reason !== null),
        [day, model, 'tokens_differ'],
      );
    }),
    { numRuns: 60 },
  );
});
