import { test } from 'node:test';
import { manyLargeRequests, slowReaders } from './promises/memory.ts';
import { assertKept } from './rig/verdict.ts';

test('4 clients that read nothing of 200 MiB each', async (t) => {
  const verdicts = await slowReaders({ streams: 4, mebibytes: 200, mostMiB: 128, besideMs: 10_000 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});

test('200 requests of 1 MiB at once', async (t) => {
  const verdicts = await manyLargeRequests({ requests: 200 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
