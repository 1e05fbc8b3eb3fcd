import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LimitLine } from '../../core/limit.ts';
import { createKeys, encodeKeyPart } from './keys.ts';

const unit = fc.oneof(
  fc.constantFrom(':', '{', '}', '\r', '\n', '\0', '%', '~', ' ', 'a', '0', '\ud800', 'é', '%003a', ':op:'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const text = fc.oneof(
  fc.array(unit, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', minLength: 60, maxLength: 200 }),
);
const scoped = (scope: string): LimitLine => ({
  scope,
  unit: 'tokens',
  window: { kind: 'calendar', unit: 'day' },
  limit: 1,
});

test('different texts encode differently, into characters that mean nothing in a key', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.match(encodeKeyPart(a), /^[A-Za-z0-9_.%~-]{1,96}$/);
      assert.equal(encodeKeyPart(a) === encodeKeyPart(b), a === b);
    }),
    { numRuns: 3000 },
  );
});

test('an encoded text encodes to something else, hashes too', () => {
  for (const raw of ['', '%', '%003a', ':', 'x'.repeat(200), encodeKeyPart('x'.repeat(200)), '~']) {
    if (raw !== encodeKeyPart(raw)) assert.notEqual(encodeKeyPart(encodeKeyPart(raw)), encodeKeyPart(raw));
  }
  assert.notEqual(encodeKeyPart('x'.repeat(200)), encodeKeyPart(encodeKeyPart('x'.repeat(200))));
});

test('no two things share a key, and the hash tag is the tenant alone', () => {
  const keys = createKeys({ prefix: 'tl:' });
  const all = (tenant: string, other: string): string[] => [
    keys.operation(tenant, other),
    keys.leases(tenant),
    keys.ledger(tenant),
    keys.counter(tenant, scoped(other)),
  ];
  fc.assert(
    fc.property(text, text, text, text, (tenantA, a, tenantB, b) => {
      for (const key of all(tenantA, a)) {
        assert.equal(/^[^{}]*\{([^{}]+)\}[^{}]*$/.exec(key)?.[1], encodeKeyPart(tenantA));
      }
      const both = [...all(tenantA, a), ...all(tenantB, b)];
      if (tenantA !== tenantB) assert.equal(new Set(both).size, both.length);
      else if (a !== b) assert.equal(new Set(both).size, both.length - 2);
      assert.equal(keys.trace(a) === keys.trace(b), a === b);
      assert.ok(![keys.tenants, keys.due, keys.probe].some((key) => both.includes(key)));
    }),
    { numRuns: 1000 },
  );
});

test('a prefix that holds a brace is refused', () => {
  assert.throws(() => createKeys({ prefix: 'a{b}:' }), RangeError);
  assert.throws(() => createKeys({ prefix: 'a b' }), RangeError);
});
