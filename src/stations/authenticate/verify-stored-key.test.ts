import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { KeyRecord, TenantRecord } from '../../core/directory.ts';
import { HeaderList } from '../../core/http.ts';
import type { MaybePromise } from '../../core/maybe-promise.ts';
import { NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import { apiKey, countingMetrics, NOW, outcome, silentLog, snapshot, tenant, testClock } from './token-kit.test.ts';

const SECRET = 'sk-tl-0123456789abcdefghij';
const OLD = 'sk-tl-old-0123456789abcdefghij';
const T = NOW * 1000;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function record(changes: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: 'key_1',
    name: 'ci',
    sha256: sha256(SECRET),
    hint: 'sk-tl-0123…ghij',
    tenant: 'acme',
    subject: 'ci-bot',
    businessLine: 'search',
    models: ['gpt-*'],
    scopes: ['canary'],
    tags: { team: 'a' },
    limits: [{ unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: 5, model: null }],
    expiresAt: null,
    revokedAt: null,
    previous: null,
    version: 1,
    createdAt: T,
    updatedAt: T,
    ...changes,
  };
}

interface Made {
  readonly station: Authenticate;
  readonly asked: string[];
  key: KeyRecord | null;
  answer: (key: KeyRecord | null) => MaybePromise<KeyRecord | null>;
}

/** A station with one key in its directory, which `made.key` replaces. */
function stored(changes: Partial<KeyRecord> = {}): Made {
  const clock = testClock();
  const asked: string[] = [];
  const made: Made = {
    asked,
    key: record(changes),
    answer: (key) => key,
    station: createAuthenticate({
      log: silentLog,
      metrics: countingMetrics(),
      clock,
      keys: {
        find: (hash) => {
          asked.push(hash);
          const known = made.key !== null && [made.key.sha256, made.key.previous?.sha256].includes(hash);
          return made.answer(known ? made.key : null);
        },
      },
      directory: {
        ...NO_DIRECTORY,
        tenant: (name) => (name === 'acme' ? ({ tier: 'gold' } as TenantRecord) : null),
      },
    }),
  };
  return made;
}

async function identify(made: Made, secret = SECRET): Promise<Principal> {
  return made.station.identify(new HeaderList([['authorization', `Bearer ${secret}`]]), snapshot());
}

test('a key of the directory says who asks, with its own limits and tags', async () => {
  const principal = await identify(stored());
  const { subject, tenant: of, tier, businessLine, credential, keyId, tags, limitRules, models } = principal;
  assert.deepEqual(
    { subject, of, tier, businessLine, credential, keyId, tags, models },
    {
      subject: 'ci-bot',
      of: 'acme',
      tier: 'gold',
      businessLine: 'search',
      credential: 'key_1',
      keyId: 'key_1',
      tags: { team: 'a' },
      models: ['gpt-*'],
    },
  );
  assert.deepEqual(limitRules, record().limits);
  assert.ok(principal.scopes.has('canary'));
  assert.equal((await identify(stored({ businessLine: null }))).businessLine, 'general');
});

test('times of a key: at the very millisecond', async () => {
  const cases: readonly (readonly [Partial<KeyRecord>, string, string])[] = [
    [{ expiresAt: T + 1 }, SECRET, '200'],
    [{ expiresAt: T }, SECRET, 'expired_credentials'],
    [{ revokedAt: T - 1 }, SECRET, 'invalid_credentials'],
    [{ revokedAt: T - 1, expiresAt: T - 1 }, SECRET, 'invalid_credentials'],
    [{ previous: { sha256: sha256(OLD), until: T + 1 } }, OLD, '200'],
    [{ previous: { sha256: sha256(OLD), until: T + 1 } }, SECRET, '200'],
    [{ previous: { sha256: sha256(OLD), until: T } }, OLD, 'invalid_credentials'],
    [{ previous: { sha256: sha256(OLD), until: T + 1 }, revokedAt: T }, OLD, 'invalid_credentials'],
    [{ previous: { sha256: sha256(OLD), until: T + 9 }, expiresAt: T }, OLD, 'expired_credentials'],
    [{}, `${SECRET}x`, 'invalid_credentials'],
  ];
  for (const [changes, secret, expected] of cases) {
    assert.equal(await outcome(stored(changes), secret, snapshot()), expected, JSON.stringify(changes));
  }
});

test('what is revoked or comes anew shows with the very next request', async () => {
  const made = stored();
  assert.equal(await outcome(made, SECRET, snapshot()), '200');
  made.key = record({ revokedAt: T });
  assert.equal(await outcome(made, SECRET, snapshot()), 'invalid_credentials');
  made.key = null;
  assert.equal(await outcome(made, SECRET, snapshot()), 'invalid_credentials');
  made.key = record();
  assert.equal(await outcome(made, SECRET, snapshot()), '200');
});

test('keys of the configuration come first, and other forms are never looked up', async () => {
  const made = stored();
  const config = snapshot({ apiKeys: [apiKey(SECRET, { name: 'static' })] });
  const headers = new HeaderList([['x-api-key', SECRET]]);
  assert.equal((await made.station.identify(headers, config)).credential, 'static');
  for (const other of ['sk-other', 'sk-tl-short', `sk-tl-${'x'.repeat(129)}`, 'sk-tl-0123456789abcdefghi:', 'a.b.c']) {
    assert.equal(await outcome(made, other, snapshot()), 'invalid_credentials');
  }
  assert.deepEqual(made.asked, []);
});

test('a directory that cannot be asked is no verdict, and is not remembered', async () => {
  const made = stored();
  made.answer = () => Promise.reject(new StoreUnavailable('gone'));
  assert.equal(await outcome(made, SECRET, snapshot()), 'identity_provider_unavailable');
  made.answer = () => {
    throw new StoreUnavailable('gone', { sent: false });
  };
  assert.equal(await outcome(made, SECRET, snapshot()), 'identity_provider_unavailable');
  made.answer = (key) => Promise.resolve(key);
  assert.equal(await outcome(made, SECRET, snapshot()), '200');
});

test('a tenant of the configuration keeps its own tier', async () => {
  const config = snapshot({}, { tenants: new Map([['acme', { ...tenant('acme'), tier: 'silver' }]]) });
  const headers = new HeaderList([['api-key', SECRET]]);
  assert.equal((await stored().station.identify(headers, config)).tier, 'silver');
});
