import { test } from 'node:test';
import { carriesLedger } from './promises/sink.ts';
import { assertKept } from './rig/verdict.ts';

test('3 kills of the worker that carries the ledger, and an engine that is away', { timeout: 300_000 }, async (t) => {
  const verdicts = await carriesLedger({ kills: 3 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
