import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { BudgetRecord, LimitRule, LineRecord, TenantRecord } from '../../core/directory.ts';
import { type LimitLine, limitName, type LimitUnit, type LimitWindow } from '../../core/limit.ts';
import { microUnits } from '../../core/money.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import { COUNT_ONLY } from './limit-lines.ts';
import { type Asked, bench, context, deployment, finishOf, refusal, runOf } from './schedule-bench.ts';

const MINUTE: LimitWindow = { kind: 'sliding', seconds: 60 };
const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
const MONTH: LimitWindow = { kind: 'calendar', unit: 'month' };
const CONCURRENT: LimitWindow = { kind: 'concurrent' };

const rule = (unit: LimitUnit, window: LimitWindow, limit: number, model: string | null = null): LimitRule => ({
  unit,
  window,
  limit,
  model,
});

interface Records {
  readonly tenant?: Partial<TenantRecord>;
  readonly line?: Partial<LineRecord>;
  readonly budgets?: readonly Partial<BudgetRecord>[];
}

function directoryOf({ tenant, line, budgets = [] }: Records): DirectoryView {
  return {
    tenant: (name) =>
      name === 'acme' && tenant !== undefined ? ({ limits: [], subjectLimits: [], ...tenant } as TenantRecord) : null,
    line: (name, businessLine) =>
      name === 'acme' && businessLine === 'x' && line !== undefined ? ({ limits: [], ...line } as LineRecord) : null,
    budgets: (name) => (name === 'acme' ? (budgets as readonly BudgetRecord[]) : []),
  };
}

/** The lines of one request, each as `scope name limit`. */
async function linesOf(records: Records, asked: Asked = {}): Promise<readonly string[]> {
  const b = bench({ directory: directoryOf(records) });
  await runOf(b, context(asked));
  return (b.store.admitted[0]?.lines ?? []).map((line) => `${line.scope} ${limitName(line)} ${line.limit}`);
}

test('limits come from every level: tenant, business line, subject, key and credential', async () => {
  const records: Records = {
    tenant: { limits: [rule('tokens', DAY, 1)], subjectLimits: [rule('requests', MINUTE, 2)] },
    line: { limits: [rule('spend', MONTH, 3)] },
  };
  const principal = { keyId: 'key_1', limitRules: [rule('requests', CONCURRENT, 4)] };
  const own: LimitLine[] = [{ scope: 'subject:ann', unit: 'tokens', window: DAY, limit: 5 }];
  const limits = [
    { unit: 'requests', window: DAY, limit: 6, per: 'tenant' },
    { unit: 'requests', window: DAY, limit: 7, per: 'line', businessLine: 'x' },
    { unit: 'requests', window: DAY, limit: 8, per: 'line', businessLine: 'other' },
  ];
  assert.deepEqual(await linesOf(records, { principal, own, limits }), [
    'tenant requests_per_day 6',
    'line:x requests_per_day 7',
    'tenant tokens_per_day 1',
    'subject:ann requests_per_minute 2',
    'line:x spend_per_month 3',
    'key:key_1 concurrent_requests 4',
    'subject:ann tokens_per_day 5',
  ]);
});

test('a rule for a model holds for its aliases and for no other model', async () => {
  const limits = [rule('tokens', DAY, 1, 'm'), rule('tokens', DAY, 2, 'other'), rule('tokens', DAY, 3)];
  const records: Records = { tenant: { limits, subjectLimits: limits } };
  const expected = [
    'model:m tokens_per_day 1',
    'tenant tokens_per_day 3',
    'model:m|subject:ann tokens_per_day 1',
    'subject:ann tokens_per_day 3',
  ];
  assert.deepEqual(await linesOf(records), expected);
  assert.deepEqual(await linesOf(records, { request: { model: 'alias' } }), expected);
  assert.deepEqual(await linesOf(records, { request: { model: 'auto' } }), [
    'tenant tokens_per_day 3',
    'subject:ann tokens_per_day 3',
  ]);
});

test('one counter is asked once, for its tightest limit, wherever that was written', () => {
  const amount = fc.nat(50);
  return fc.assert(
    fc.asyncProperty(fc.array(amount, { minLength: 1, maxLength: 4 }), fc.array(amount), async (config, directory) => {
      const limits = config.map((limit) => ({ unit: 'tokens', window: DAY, limit, per: 'tenant' }));
      const records = { tenant: { limits: directory.map((limit) => rule('tokens', DAY, limit)) } };
      const least = Math.min(...config, ...directory);
      assert.deepEqual(await linesOf(records, { limits }), [`tenant tokens_per_day ${least}`]);
    }),
    { numRuns: 50 },
  );
});

test('days and months are those of the zone of the ledger', async () => {
  const b = bench({ directory: directoryOf({ tenant: { limits: [rule('tokens', DAY, 1)] } }) });
  await runOf(
    b,
    context({ zone: 'Asia/Tokyo', own: [{ scope: 'subject:ann', unit: 'tokens', window: MONTH, limit: 5 }] }),
  );
  assert.deepEqual(
    b.store.admitted[0]?.lines.map(({ window }) => window),
    [
      { kind: 'calendar', unit: 'day', zone: 'Asia/Tokyo' },
      { kind: 'calendar', unit: 'month', zone: 'Asia/Tokyo' },
    ],
  );
});

test('budgets count what is really spent, and set nothing aside', async () => {
  const budgets = [
    { businessLine: null, period: 'month' },
    { businessLine: 'x', period: 'day' },
    { businessLine: 'other', period: 'day' },
  ] as const;
  const b = bench({ directory: directoryOf({ budgets }) });
  const ctx = context();
  await runOf(b, ctx);
  assert.deepEqual(b.store.admitted[0]?.lines, [
    { scope: 'tenant', unit: 'spend', window: MONTH, limit: COUNT_ONLY },
    { scope: 'line:x', unit: 'spend', window: DAY, limit: COUNT_ONLY },
  ]);
  assert.equal(b.store.admitted[0]?.amounts.spend, 0);
  const event = (chargedTo: string, cost: number) => ({ chargedTo, cost, attempt: 1 }) as unknown as LedgerEvent;
  await finishOf(b, ctx, { events: [event('tenant', 70), event('gateway', 900)] });
  assert.equal(b.store.settled[0]?.actual.spend, 70);
});

test('a limit on spending sets the estimated cost aside', async () => {
  const b = bench({
    directory: directoryOf({
      line: { limits: [rule('spend', DAY, 1000)] },
      budgets: [{ businessLine: 'x', period: 'day' }],
    }),
  });
  await runOf(b, context());
  assert.deepEqual(b.store.admitted[0]?.lines, [{ scope: 'line:x', unit: 'spend', window: DAY, limit: 1000 }]);
  // 10 prompt tokens at 1 and 300 of the answer at 2 a million.
  assert.equal(b.store.admitted[0]?.amounts.spend, microUnits(610));
});

test('money is set aside for the dearest deployment that may serve, and a crash costs what was set aside', async () => {
  const dear = deployment('m@dear');
  const deployments = [
    deployment('m@b'),
    { ...dear, price: { ...dear.price, completionPerMtok: microUnits(9_000_000) } },
  ];
  for (const model of ['m', 'alias', 'auto']) {
    const b = bench({ directory: directoryOf({ tenant: { limits: [rule('spend', DAY, 1_000_000)] } }) });
    await runOf(b, context({ deployments, request: { model, maxOutputTokens: 100 } }));
    assert.equal(b.store.admitted[0]?.amounts.spend, 910, model);
    assert.equal(b.store.admitted[0]?.onExpiry?.cost, 910, model);
  }
});

const DENIALS: readonly (readonly [LimitLine, string, RegExp])[] = [
  [
    { scope: 'line:x', unit: 'spend', window: MONTH, limit: 2_500_000 },
    'budget_exceeded',
    /^Spending limit reached for business line x on spend_per_month: limit 2\.500000, remaining 0\.000100, /,
  ],
  [
    { scope: 'key:key_1', unit: 'requests', window: CONCURRENT, limit: 3 },
    'rate_limit_exceeded',
    /^Rate limit reached for key key_1 on concurrent_requests: limit 3, /,
  ],
  [
    { scope: 'model:m|subject:ann', unit: 'requests', window: MINUTE, limit: 3 },
    'rate_limit_exceeded',
    /for model m of subject ann on requests_per_minute: /,
  ],
  [
    { scope: 'model:m', unit: 'tokens', window: DAY, limit: 3000 },
    'insufficient_quota',
    /^Not enough quota left for model m on tokens_per_day: /,
  ],
];

test('the refusal names the level and the limit', async () => {
  for (const [line, code, message] of DENIALS) {
    const b = bench();
    const by = { line, remaining: line.unit === 'spend' ? 100 : 0, resetMs: 5000 };
    b.store.admitWith = () => Promise.resolve({ kind: 'denied', by, limits: [by], retryAfterMs: 5000 });
    const error = await refusal(runOf(b, context()));
    assert.equal(error.code, code);
    assert.equal(error.status, 429);
    assert.match(error.message, message);
    assert.equal(error.retryAfterMs, line.window.kind === 'concurrent' ? 1000 : 5000);
    if (line.window.kind === 'concurrent') assert.deepEqual(error.headers, []);
  }
});
