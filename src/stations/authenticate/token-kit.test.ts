/** What the tests of this folder make tokens, keys and configurations with. Signs with node:crypto, not with jose. */
import assert from 'node:assert/strict';
import { constants, createHash, createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { test } from 'node:test';
import type { Arrived, Received } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList } from '../../core/http.ts';
import type { HeaderPair } from '../../core/http.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { ApiKey, Auth, Issuer, Snapshot, Tenant } from '../../core/snapshot.ts';
import { createAuthenticate } from './authenticate.ts';
import type { Authenticate } from './authenticate.ts';

export const ISSUER = 'https://issuer.test';
/** 2026-01-01, in seconds. */
export const NOW = 1_767_225_600;

const pairs = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>();

/** One pair a name and test process. */
export function rsaPair(name: string, modulusLength = 2048): { publicKey: KeyObject; privateKey: KeyObject } {
  const pair = pairs.get(name) ?? generateKeyPairSync('rsa', { modulusLength });
  pairs.set(name, pair);
  return pair;
}

export function ecPair(name: string, namedCurve = 'P-256'): { publicKey: KeyObject; privateKey: KeyObject } {
  const pair = pairs.get(name) ?? generateKeyPairSync('ec', { namedCurve });
  pairs.set(name, pair);
  return pair;
}

export function jwk(key: KeyObject, extra: Record<string, unknown> = {}): Record<string, unknown> {
  return { ...key.export({ format: 'jwk' }), ...extra };
}

export function b64(value: unknown): string {
  const text = typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value);
  return Buffer.from(text as string).toString('base64url');
}

type Signer = (data: Buffer) => Buffer;

export const rs256 =
  (key: KeyObject): Signer =>
  (data) =>
    signBytes('sha256', data, key);
export const ps256 =
  (key: KeyObject): Signer =>
  (data) =>
    signBytes('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
export const es256 =
  (key: KeyObject): Signer =>
  (data) =>
    signBytes('sha256', data, { key, dsaEncoding: 'ieee-p1363' });
export const hs256 =
  (secret: string | Buffer): Signer =>
  (data) =>
    createHmac('sha256', secret).update(data).digest();

/** A token from parts that need not be sound. */
export function token(header: unknown, claims: unknown, signer: Signer): string {
  const input = `${b64(header)}.${b64(claims)}`;
  return `${input}.${signer(Buffer.from(input)).toString('base64url')}`;
}

/** Claims that pass; `undefined` in `changes` takes one away. */
export function goodClaims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const base = { iss: ISSUER, aud: 'llm-gw', sub: 'user-1', tenant: 'acme', exp: NOW + 600, models: ['*'] };
  return { ...base, ...changes };
}

export const goodHeader = { alg: 'RS256', typ: 'JWT', kid: 'a1' };

/** A good token of key A, with changes. */
export function jwt(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key = 'A'): string {
  return token({ ...goodHeader, ...header }, goodClaims(claims), rs256(rsaPair(key).privateKey));
}

export interface TestClock extends Clock {
  advance(ms: number): void;
}

export function testClock(): TestClock {
  let elapsed = 0;
  return {
    now: () => 1000 + elapsed,
    time: () => NOW * 1000 + elapsed,
    advance: (ms) => {
      elapsed += ms;
    },
  };
}

export const CLAIMS: Issuer['claims'] = {
  tenant: 'tenant',
  models: 'models',
  tier: 'tier',
  businessLine: 'business_line',
  scope: 'scope',
  quotaDaily: 'quota_daily',
};

export function issuer(changes: Partial<Issuer> = {}): Issuer {
  return {
    issuer: ISSUER,
    audience: ['llm-gw'],
    algorithms: ['RS256'],
    typ: null,
    keys: {
      kind: 'jwks-url',
      url: 'http://jwks.test/keys',
      refreshMs: 300_000,
      cooldownMs: 30_000,
      maxStaleMs: 3_600_000,
      timeoutMs: 2000,
    },
    claims: CLAIMS,
    ...changes,
  };
}

export function tenant(name: string): Tenant {
  return { name, tier: 'standard', businessLine: 'general', limits: [] };
}

export function apiKey(secret: string, changes: Partial<ApiKey> = {}): ApiKey {
  return {
    name: 'key-1',
    sha256: createHash('sha256').update(secret).digest('hex'),
    tenant: 'acme',
    subject: 'service-1',
    models: ['*'],
    scopes: [],
    businessLine: null,
    quotaDaily: null,
    ...changes,
  };
}

export function snapshot(auth: Partial<Auth> = {}, changes: Partial<Snapshot> = {}): Snapshot {
  const config: Partial<Snapshot> = {
    generation: 1,
    auth: {
      issuers: [issuer()],
      apiKeys: [],
      clockSkewMs: 30_000,
      cache: { entries: 1000, ttlMs: 60_000 },
      ...auth,
    },
    tenants: new Map(),
    tenantDefaults: tenant('default'),
    server: { messageTimeoutMs: 1000 } as Snapshot['server'],
    aliases: new Map(),
    models: new Map(),
    ...changes,
  };
  return config as Snapshot;
}

const noop = (): void => {};

export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop };

export function countingMetrics(): Metrics & { readonly anomalies: string[] } {
  const anomalies: string[] = [];
  return {
    anomalies,
    anomaly: (kind) => anomalies.push(kind),
    request: noop,
    streams: noop,
    storeState: noop,
    quotaDenied: noop,
    slots: noop,
    queue: noop,
    waited: noop,
    queueRefused: noop,
    rateShare: noop,
    breaker: noop,
    leftOut: noop,
    spent: noop,
    surge: noop,
    surgeAction: noop,
    affinity: noop,
    classified: noop,
    replayed: noop,
    loadedTry: noop,
  };
}

/** A key set endpoint that counts. `body` may be changed; a number is a bad status. */
export class KeyServer {
  fetches = 0;
  body: unknown;
  #gate: Promise<void> = Promise.resolve();

  constructor(...names: readonly string[]) {
    this.publish(...names);
  }

  /** `A` is published under the kid `a1`, `B` under `b1`. */
  publish(...names: readonly string[]): void {
    this.body = {
      keys: names.map((name) => jwk(rsaPair(name).publicKey, { kid: `${name.toLowerCase()}1`, use: 'sig' })),
    };
  }

  /** Holds every answer back until the returned function is called. */
  close(): () => void {
    let open = noop;
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    return () => open();
  }

  readonly fetch = (async () => {
    this.fetches += 1;
    const { body } = this;
    await this.#gate;
    return typeof body === 'number' ? new Response('no', { status: body }) : new Response(JSON.stringify(body));
  }) as unknown as typeof globalThis.fetch;
}

export interface Bench {
  readonly station: Authenticate;
  readonly server: KeyServer;
  readonly clock: TestClock;
  readonly metrics: ReturnType<typeof countingMetrics>;
}

export function bench(): Bench {
  const server = new KeyServer('A');
  const clock = testClock();
  const metrics = countingMetrics();
  const station = createAuthenticate({ log: silentLog, metrics, clock, fetch: server.fetch });
  return { station, server, clock, metrics };
}

export function context(headers: readonly HeaderPair[], config: Snapshot, model = 'gpt-test'): Arrived & Received {
  const ctx: Partial<Arrived> & { request: { model: string } } = {
    head: { method: 'POST', path: '/v1/chat/completions?api-key=sk-query', headers: new HeaderList(headers) },
    config,
    request: { model },
  };
  return ctx as unknown as Arrived & Received;
}

/** `200`, or the code of the refusal, after `head` and `run`. */
export async function outcome(
  { station }: Pick<Bench, 'station'>,
  headers: readonly HeaderPair[] | string,
  config: Snapshot,
  model?: string,
): Promise<string> {
  const pairs = typeof headers === 'string' ? [['authorization', `Bearer ${headers}`] as const] : headers;
  const ctx = context(pairs, config, model);
  try {
    const step = await station.head?.(ctx);
    assert.ok(step !== undefined && 'adds' in step);
    await station.run?.({ ...ctx, ...step.adds });
    return '200';
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error.code;
  }
}

test('the kit makes a token that passes', async () => {
  assert.equal(await outcome(bench(), jwt(), snapshot()), '200');
});
