import { test } from 'node:test';
import { killRedis, pauseRedis, tellsDurability } from './promises/redis.ts';
import { assertKept } from './rig/verdict.ts';

/** Laxer than the promise of 25 ms, which half of the refusals must keep here too: other work shares a test's machine. */
const REFUSAL_MS = 400;
/** Laxer than the promise of two seconds, for the same reason. */
const BACK_MS = 5000;

test('10 kills of Redis under load', async (t) => {
  const verdicts = await killRedis({ kills: 10 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});

test('a Redis without an append-only file is told', async () => {
  assertKept(await tellsDurability());
});

for (const [how, rule] of [
  ['pause', 'deny'],
  ['kill', 'deny'],
  ['pause', 'allow'],
] as const) {
  test(`Redis away for 10 s: ${how}, ${rule}`, async (t) => {
    const verdicts = await pauseRedis({ how, rule, seconds: 10, refusalMs: REFUSAL_MS, backMs: BACK_MS });
    for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
    assertKept(verdicts);
  });
}
