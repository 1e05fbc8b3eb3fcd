import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf, WELL, type FaultKind } from './condition.ts';

const KINDS = ['slow', 'slow-at-start', 'errors', 'hang', 'slow-tokens', 'rejects', 'slow-ramp', 'flapping'] as const;

for (const kind of KINDS satisfies readonly FaultKind[]) {
  test(`${kind}: begins with its fault, ends well, in order`, () => {
    const changes = changesOf(kind, { host: 3, from: 1000, to: 301_000 });
    assert.equal(changes[0]?.at, 1000);
    assert.notDeepEqual(changes[0]?.condition, WELL);
    assert.deepEqual(changes.at(-1), { at: 301_000, host: 3, condition: WELL });
    assert.ok(changes.every(({ at, host }, index) => host === 3 && at >= (changes[index - 1]?.at ?? 0)));
  });
}

test('a ramp ends ten times slower at half the time', () => {
  const changes = changesOf('slow-ramp', { host: 0, from: 0, to: 300_000 });
  const last = changes.at(-2);
  assert.equal(last?.condition.decodeSpeed, 0.1);
  assert.ok((last?.at ?? 0) < 150_000);
});
