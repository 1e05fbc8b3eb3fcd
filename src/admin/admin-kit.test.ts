/** What the tests of the admin API share: stores in memory, a server, and its callers. */
import { createHash } from 'node:crypto';
import type { AdminToken } from '../core/admin-settings.ts';
import type { DirectoryKind } from '../core/directory.ts';
import { GatewayError } from '../core/error.ts';
import type { LimitLine } from '../core/limit.ts';
import { microUnits } from '../core/money.ts';
import type { AuditEntry } from '../core/ports/audit.ts';
import type { BudgetStanding } from '../core/ports/budget-state.ts';
import type { DirectoryStore, RecordOf } from '../core/ports/directory-store.ts';
import type { LiveState } from '../core/ports/live.ts';
import type { SpendQuery, SpendRow } from '../core/ports/spend-reader.ts';
import { createMemoryIdempotencyStore } from '../store/memory/idempotency-store.ts';
import type { Explained } from './admin-deps.ts';
import { createAdminApp } from './admin-server.ts';
import type { AdminServerOptions } from './admin-server.ts';

export const START = Date.parse('2026-11-30T10:00:00Z');
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A directory with versions; writes give way once, so that races can happen. */
export function fakeDirectory(
  time: () => number,
): DirectoryStore & { readonly all: Map<string, RecordOf<DirectoryKind>> } {
  const all = new Map<string, RecordOf<DirectoryKind>>();
  const at = (kind: string, id: string): string => `${kind} ${id}`;
  const get = <K extends DirectoryKind>(kind: K, id: string) =>
    (all.get(at(kind, id)) as RecordOf<K> | undefined) ?? null;
  const tenantOf = (record: RecordOf<DirectoryKind>) =>
    record.kind === 'tenant' ? record.name : 'tenant' in record ? record.tenant : null;
  return {
    all,
    get: async (kind, id) => get(kind, id),
    keyBySecret: async (sha256) =>
      [...all.values()].find(
        (record): record is RecordOf<'key'> => record.kind === 'key' && record.sha256 === sha256,
      ) ?? null,
    list: async <K extends DirectoryKind>(
      kind: K,
      { after, count, tenant }: { after: string | null; count: number; tenant?: string },
    ) =>
      [...all]
        .filter(([key, record]) => record.kind === kind && (after === null || key > at(kind, after)))
        .filter(([, record]) => tenant === undefined || tenantOf(record) === tenant)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, count)
        .map(([, record]) => record as RecordOf<K>),
    put: async (kind, id, record, expected) => {
      const current = get(kind, id);
      if ((current?.version ?? 0) !== expected) return { kind: 'stale', current };
      const stored = {
        ...record,
        kind,
        version: expected + 1,
        createdAt: current?.createdAt ?? time(),
        updatedAt: time(),
      } as unknown as RecordOf<typeof kind>;
      all.set(at(kind, id), stored);
      return { kind: 'written', record: stored };
    },
    remove: async (kind, id, expected) => {
      const current = get(kind, id);
      if (current === null || current.version !== expected) return { kind: 'stale', current };
      all.delete(at(kind, id));
      return { kind: 'written', record: current };
    },
    watch: () => ({ close: () => {} }),
  };
}

export const EXPLAINED: Explained = {
  route: 'r',
  reason: 'match',
  fallbackReason: null,
  classified: { classifier: 'work', class: 'code', by: 'text', margin: 0.25 },
  plan: [],
  words: 'one candidate',
  candidates: [
    {
      deployment: 'm@b',
      place: 1,
      reason: 'best_score',
      terms: { cost: 1, latency: 0.5, quality: 0.25 },
      utility: 0.6,
      value: 0.55,
      health: 1,
      running: 3,
      load: 0.25,
      warm: 0.75,
      estimateMs: 800,
      estimateCost: 42,
      weight: 1,
    },
  ],
  refused: null,
};

const TENANTS = ['acme', 'globex'] as const;
const ROLES = ['viewer', 'operator', 'admin'] as const;

/** Admin tokens by who holds them: `admin`, `viewer@acme`, … */
export const SECRETS: Readonly<Record<string, string>> = Object.fromEntries(
  ROLES.flatMap((role) => [role, ...TENANTS.map((tenant) => `${role}@${tenant}`)]).map((who) => [
    who,
    `test-admin-token-of-${who}-0123456789`,
  ]),
);

const tokens: readonly AdminToken[] = [
  ...Object.entries(SECRETS).map(([who, secret]) => {
    const [role, tenant] = who.split('@');
    return {
      name: who,
      sha256: hashOf(secret),
      role: role as AdminToken['role'],
      tenant: tenant ?? null,
      expiresAt: null,
    };
  }),
  {
    name: 'old',
    sha256: hashOf('an-expired-token-of-an-admin-0123'),
    role: 'admin',
    tenant: null,
    expiresAt: START - 1,
  },
];

export const SPEND_ROWS: readonly SpendRow[] = TENANTS.flatMap((tenant) =>
  [0, 1, 2].map((hour) => ({
    at: START + hour * 3_600_000,
    keys: { tenant, model: hour === 1 ? '=cmd|x' : 'm1' },
    currency: 'USD',
    requests: hour + 1,
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 5,
    cost: microUnits(1_500_000 + hour),
  })),
);

const audited = (tenant: string, index: number): { id: string; entry: AuditEntry } => ({
  id: `${100 - index}`,
  entry: { kind: 'request', time: START - index, facts: { tenant, note: `seen-by-${tenant}` } },
});

export const STANDING: BudgetStanding = {
  from: START - 10 * 3_600_000,
  to: START + 14 * 3_600_000,
  spent: microUnits(1_000_001),
  percent: 50,
  forecast: microUnits(2_400_002),
  exhaustedAt: START + 10 * 3_600_000,
  protecting: false,
};

export const LIVE: LiveState = {
  at: START,
  replicas: [{ id: 'host-1', startedAt: START - 1000, workers: 2, running: 3 }],
  rows: [
    {
      route: 'r',
      model: 'm',
      deployment: 'm@b',
      backend: 'b',
      running: 2,
      requests: 10,
      errors: 1,
      tokens: 1234,
      latencyP50: 12.5,
      latencyP95: 40,
      firstTokenP50: null,
      coldShare: null,
      warmP95: null,
    },
  ],
  queues: [{ model: 'm', interactive: 3, batch: 1, oldestMs: 250, refused: 7, waited: 40, waitP95: 180 }],
};

/** Everything that the server leans on, in memory. `change` overrides parts. */
export function adminKit(change: Partial<AdminServerOptions> = {}) {
  let now = 0;
  const time = (): number => START + now;
  const directory = fakeDirectory(time);
  const entries: AuditEntry[] = [];
  const logged: unknown[] = [];
  const log = (message: string, fields?: unknown): void => void logged.push([message, fields]);
  const options: AdminServerOptions = {
    listen: { address: '127.0.0.1', port: 0, tls: null },
    access: () => ({ tokens, oidc: { globalTenants: ['platform'] } }),
    identify: async (headers) => {
      const [, kind, tenant, scope] = /^Bearer jwt\.(\w+)\.(\w+)\.([\w:]*)$/.exec(headers.authorization ?? '') ?? [];
      if (kind === undefined) throw new GatewayError('invalid_credentials', 'canary: kid 17 of issuer x is unknown');
      if (kind === 'down') throw new GatewayError('identity_provider_unavailable', 'canary: 10.0.0.7 refused');
      if (kind === 'broken') throw new TypeError('canary: undefined is not a function');
      return { subject: 'ann', tenant: tenant ?? '', scopes: new Set([scope ?? '', 'chat']) };
    },
    directory,
    quota: {
      peek: async (_tenant, lines) => lines.map((line) => ({ line, remaining: line.limit - 1, resetMs: 60_000 })),
    },
    spend: {
      spend: async ({ tenant, from, to }: SpendQuery) =>
        SPEND_ROWS.filter((row) => (tenant === null || row.keys.tenant === tenant) && row.at >= from && row.at < to),
      top: async ({ count }) =>
        TENANTS.map((tenant) => ({
          requestId: `request-of-${tenant}`,
          tenant,
          model: 'm1',
          backend: 'b1',
          businessLine: 'default',
          time: START,
          totalTokens: 15,
          cost: microUnits(42),
          currency: 'USD',
        })).slice(0, count),
      verify: async () => [],
    },
    traces: {
      get: async (id) =>
        (id === 'shared' ? TENANTS : TENANTS.filter((name) => id === `of-${name}`)).map((tenant) => ({
          tenant,
          note: `trace-of-${tenant}`,
        })),
    },
    audit: {
      log: { append: (entry) => void entries.push(entry), state: () => 'ok' },
      reader: {
        read: async ({ tenant, after, count }) =>
          TENANTS.flatMap((name, index) => [audited(name, index * 2), audited(name, index * 2 + 1)])
            .filter(
              ({ id, entry }) =>
                (tenant === null || entry.facts['tenant'] === tenant) && (after === null || Number(id) < Number(after)),
            )
            .slice(0, count),
      },
    },
    idempotency: createMemoryIdempotencyStore({ clock: { time } }),
    config: () => ({
      redis: { url: 'redis://user:canary-password@host:6379', note: 'x' },
      backends: [{ credentials: 'canary-credential' }],
    }),
    routing: () => ({ models: [], routes: [] }),
    rollouts: {
      check: (text) =>
        text.startsWith('bad')
          ? { ok: false, problems: ['1:1 x is wrong'] }
          : {
              ok: true,
              parts: [
                { part: 'routes', how: 'percent' },
                { part: 'timeouts', how: 'promotion' },
              ],
              digest: 'd'.repeat(64),
              base: 'b'.repeat(64),
              isFileInForce: true,
            },
      standing: async () => ({
        old: { requests: 200, errors: 1, p95Ms: 12.34 },
        new: { requests: 10, errors: 0, p95Ms: null },
        verdict: { kind: 'unclear', words: 'too few requests' },
      }),
    },
    deployments: () => [
      { id: 'm@b', model: 'm', backend: 'b', zone: 'hot', upstreamModel: 'm', stage: 'full', percent: 0 },
    ],
    explain: ({ model }) => ({ ...EXPLAINED, plan: [`${model}@b`] }),
    status: async () => ({
      version: '1.2.3',
      zone: 'Europe/Berlin',
      currency: 'USD',
      generation: 4,
      audit: 'ok',
      sink: { state: 'behind', lagEvents: 7, lagMs: 90_000 },
    }),
    live: async () => LIVE,
    jobs: async () => ({ queued: 4, running: 2, failed: 1, bytes: 100, oldestMs: 90_000 }),
    budgetStandings: async (budgets) =>
      new Map(budgets.filter(({ currency }) => currency === 'USD').map(({ id }) => [id, STANDING])),
    limitLines: async ({ subject }): Promise<readonly LimitLine[]> => [
      { scope: 'tenant', unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: 100 },
      ...(subject === null
        ? []
        : [
            {
              scope: `subject:${subject}`,
              unit: 'requests' as const,
              window: { kind: 'concurrent' as const },
              limit: 3,
            },
          ]),
    ],
    log: { info: log, warn: log, error: log },
    clock: { now: () => now, time },
    requestsPerMinute: 1_000_000,
    ...change,
  };
  const app = createAdminApp(options);
  let writes = 0;

  /** One request. `as` names a caller of `SECRETS`, or is a whole Authorization header; null = none. */
  async function call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD',
    url: string,
    {
      as = 'admin',
      body,
      headers = {},
      from = '127.0.0.1',
    }: { as?: string | null; body?: unknown; headers?: Record<string, string>; from?: string } = {},
  ) {
    const sent: Record<string, string> = method === 'GET' ? {} : { 'idempotency-key': `auto-${(writes += 1)}` };
    if (as !== null) sent['authorization'] = SECRETS[as] === undefined ? as : `Bearer ${SECRETS[as]}`;
    if (body !== undefined) sent['content-type'] = 'application/json';
    const reply = await app.inject({
      method,
      url,
      remoteAddress: from,
      headers: { ...sent, ...headers },
      ...(body === undefined
        ? {}
        : { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    });
    const type = reply.headers['content-type'] ?? '';
    const json =
      type.startsWith('application/json') && reply.body !== '' ? (JSON.parse(reply.body) as Reply) : ({} as Reply);
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, json };
  }

  return {
    app,
    options,
    call,
    directory,
    entries,
    logged,
    tick: (ms: number) => {
      now += ms;
    },
  };
}

/** The parts of answers that tests look at. */
export interface Reply {
  readonly [key: string]: unknown;
  readonly id?: string;
  readonly version?: number;
  readonly secret?: string | null;
  readonly data?: readonly { readonly [key: string]: unknown }[];
  readonly next_cursor?: string | null;
  readonly error?: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param: string | null;
  };
}
