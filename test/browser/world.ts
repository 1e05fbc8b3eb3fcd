/** A month of a small company on real stores in memory, behind a real admin server: what pages are tested with. */
import type { AddressInfo } from 'node:net';
import { adminKit, SECRETS } from '../../src/admin/admin-kit.test.ts';
import type { AdminServerOptions } from '../../src/admin/admin-server.ts';
import { createReadBudgets } from '../../src/control/budgets/read-budgets.ts';
import { newRequestId, operationOf } from '../../src/core/ids.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { LimitLine } from '../../src/core/limit.ts';
import { microUnits } from '../../src/core/money.ts';
import type { LiveState } from '../../src/core/ports/live.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { startOfDay } from '../../src/lib/calendar/calendar-period.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import type { Stores } from '../../src/store/stores.ts';

export const ZONE = 'Europe/Berlin';
/** A Wednesday, 15:20 in Berlin. */
export const NOW = Date.parse('2026-11-18T14:20:00Z');
/** A name that would run if it were ever taken for markup. */
export const HOSTILE = '<img src=x onerror="globalThis.stolen=1">';

const DAY = 86_400_000;
const MODELS = [
  ['claude-sonnet', 'anthropic', 0.052],
  ['llama-3.1-70b-instruct', 'gpu-cluster-eu', 0.011],
  ['gpt-4o-mini', 'openai', 0.004],
  ['qwen2.5-coder-32b', 'gpu-cluster-eu', 0.006],
  ['mistral-small', 'gpu-cluster-us', 0.003],
  ['embed-large', 'openai', 0.0004],
] as const;
const WHO = [
  ['acme', 'assistant', 5],
  ['acme', 'search', 3],
  ['acme', 'batch-translation', 2],
  ['globex', 'support', 3],
  ['globex', HOSTILE, 1],
] as const;

const calendar = (unit: 'day' | 'month') => ({ kind: 'calendar', unit, zone: ZONE }) as const;
const SPEND_LINES = (line: string): readonly LimitLine[] =>
  (['tenant', `line:${line}`] as const).flatMap((scope) =>
    (['day', 'month'] as const).map((unit) => ({
      scope,
      unit: 'spend' as const,
      window: calendar(unit),
      limit: Number.MAX_SAFE_INTEGER,
    })),
  );
const LIMITS: readonly LimitLine[] = [
  { scope: 'tenant', unit: 'tokens', window: calendar('day'), limit: 1_200_000 },
  { scope: 'tenant', unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 600 },
  { scope: 'line:assistant', unit: 'tokens', window: calendar('month'), limit: 6_000_000 },
  { scope: 'model:claude-sonnet', unit: 'requests', window: calendar('day'), limit: 400 },
];

/** The same numbers in every run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

export interface World {
  readonly url: string;
  readonly stores: Stores;
  /** Tokens by who holds them: `viewer`, `viewer@acme`, … */
  readonly tokens: typeof SECRETS;
  /** What the server sees happen now; replaced to let something happen. */
  live: LiveState;
  /** What the server does before it answers, such as refusing; null = nothing. */
  refuse:
    | ((path: string) => { readonly status: number; readonly code: string; readonly retryAfter?: number } | null)
    | null;
  /** Every path that was asked for. */
  readonly asked: string[];
  readonly tick: (ms: number) => void;
  readonly stop: () => Promise<void>;
  /** Listens at the same address again. */
  readonly start: () => Promise<void>;
}

/** Fills stores with a month of spending, and starts the server. `events` a day: about 30. */
export async function openWorld(change: Partial<AdminServerOptions> = {}): Promise<World> {
  let time = NOW;
  const clock = { now: () => time, time: () => time };
  const stores = createMemoryStores({ clock, ledger: { maxEvents: 100_000, keepMs: 90 * DAY, zone: ZONE } });
  await book(stores, (at) => (time = at));
  time = NOW;
  const asked: string[] = [];
  let port = 0;
  const config = (): Pick<Snapshot, 'ledger' | 'models'> =>
    ({ ledger: { zone: ZONE }, models: new Map() }) as unknown as Pick<Snapshot, 'ledger' | 'models'>;
  const options = (): Partial<AdminServerOptions> => ({
    directory: stores.directory,
    quota: stores.quota,
    spend: stores.spend,
    clock,
    dayStart: (date) => startOfDay(date, ZONE),
    budgetStandings: createReadBudgets({ quota: stores.quota, state: stores.budgets, config, clock }),
    limitLines: async ({ tenant }) => (tenant === 'acme' ? LIMITS : []),
    live: async () => ({ ...world.live, at: time }),
    routing: () => ROUTING,
    ...change,
  });
  let kit = adminKit(options());
  await directory(stores);
  const start = async (): Promise<void> => {
    kit = adminKit(options());
    kit.app.addHook('onRequest', async (request, reply) => {
      asked.push(request.url);
      const refused = world.refuse?.(request.url) ?? null;
      if (refused === null) return;
      if (refused.retryAfter !== undefined) void reply.header('retry-after', String(refused.retryAfter));
      await reply
        .code(refused.status)
        .send({ error: { message: 'Refused.', type: 'x', param: null, code: refused.code } });
    });
    await kit.app.listen({ host: '127.0.0.1', port });
    port = (kit.app.server.address() as AddressInfo).port;
  };
  const world: World = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    stores,
    tokens: SECRETS,
    live: LIVE_NOW,
    refuse: null,
    asked,
    tick: (ms) => void (time += ms),
    stop: async () => {
      kit.app.server.closeAllConnections();
      await kit.app.close();
    },
    start,
  };
  await start();
  return world;
}

async function directory({ directory: store }: Stores): Promise<void> {
  for (const name of ['acme', 'globex'])
    await store.put('tenant', name, { name, tier: 'standard', limits: [], subjectLimits: [] }, 0);
  for (const [tenant, name] of WHO)
    await store.put('line', `${tenant}/${name}`, { tenant, name, costTier: 'standard', limits: [], channels: [] }, 0);
  const budgets = [
    ['acme', null, 'month', 60],
    ['acme', 'assistant', 'month', 10],
    ['acme', 'batch-translation', 'month', 3],
    ['globex', null, 'day', 2.4],
  ] as const;
  for (const [at, [tenant, businessLine, period, amount]] of budgets.entries()) {
    const id = `budget_${String(at).padStart(20, '0')}`;
    const record = {
      id,
      tenant,
      businessLine,
      period,
      amount: microUnits(amount * 1e6),
      currency: 'USD',
      alertsAt: [70, 90],
    };
    await store.put('budget', id, record, 0);
  }
  for (const [at, [tenant, businessLine]] of WHO.entries()) {
    const id = `key_${String(at).padStart(20, '0')}`;
    const key = {
      id,
      name: at === 4 ? HOSTILE : `${businessLine} service`,
      sha256: `${at}`.repeat(64),
      hint: `sk-tl-${at}a…9f`,
      tenant,
      subject: `${businessLine}-bot`,
      businessLine,
      models: ['*'],
      scopes: [],
      tags: {},
      limits: [],
      expiresAt: at === 1 ? NOW + 6 * DAY : null,
      revokedAt: at === 2 ? NOW - DAY : null,
      previous: null,
    };
    await store.put('key', id, key, 0);
  }
}

async function book(stores: Stores, setTime: (at: number) => void): Promise<void> {
  const random = dice(7);
  const today = startOfDay('2026-11-18', ZONE);
  for (let back = 30; back >= 0; back -= 1) {
    const start = today - back * DAY;
    const weekend = [0, 6].includes(new Date(start + DAY / 2).getUTCDay());
    const many = Math.round((weekend ? 9 : 26) * (1 + (30 - back) / 40) + random() * 8);
    const times = Array.from({ length: many }, () => start + (7 + random() * 12) * 3_600_000).filter((at) => at < NOW);
    for (const at of times.toSorted((a, b) => a - b)) {
      setTime(at);
      await bookOne(stores, at, random);
    }
  }
}

async function bookOne({ quota }: Stores, at: number, random: () => number): Promise<void> {
  const [tenant, businessLine] = pick(
    WHO.flatMap((who) => Array.from({ length: who[2] }, () => who)),
    random,
  );
  const which = Math.min(MODELS.length - 1, Math.floor(random() ** 1.5 * MODELS.length));
  const [model, backend, price] = MODELS[which] ?? MODELS[0];
  const promptTokens = Math.round(400 + random() * 9000);
  const completionTokens = model === 'embed-large' ? 0 : Math.round(100 + random() * 1800);
  const cost = microUnits(Math.round((promptTokens + completionTokens * 4) * price * 180));
  const operation = operationOf(newRequestId(at));
  const lines = SPEND_LINES(businessLine);
  const event: LedgerEvent = {
    operation,
    requestId: `req-${Math.floor(random() * 1e12)
      .toString(36)
      .padStart(8, '0')}`,
    attempt: 1,
    chargedTo: random() < 0.03 ? 'gateway' : 'tenant',
    status: 'complete',
    tenant,
    subject: `${businessLine}-bot`,
    businessLine,
    requestType:
      model === 'embed-large' ? 'embedding' : random() < 0.2 ? 'code' : random() < 0.3 ? 'reasoning' : 'chat',
    route: 'default',
    requestedModel: model,
    model,
    backend,
    promptTokens,
    cachedTokens: Math.round(promptTokens * random() * 0.6),
    completionTokens,
    reasoningTokens: 0,
    estimated: false,
    usageFlag: null,
    cost,
    currency: 'USD',
    firstTokenMs: 240,
    totalMs: 2400,
    time: at,
  };
  const tokens = promptTokens + completionTokens;
  const amounts = { requests: 1, tokens, spend: cost };
  await quota.admit({
    operation,
    tenant,
    lines: [...lines, ...(tenant === 'acme' ? LIMITS : [])],
    amounts,
    leaseMs: 60_000,
    onExpiry: null,
  });
  await quota.settle({ operation, tenant, actual: amounts, events: [event] });
}

function pick<T>(from: readonly T[], random: () => number): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new RangeError('nothing to pick from');
  return found;
}

const LIVE_NOW: LiveState = {
  at: NOW,
  replicas: [
    { id: 'gateway-0', startedAt: NOW - 9 * DAY, workers: 4, running: 23 },
    { id: 'gateway-1', startedAt: NOW - 3 * 3_600_000, workers: 4, running: 18 },
  ],
  queues: [
    {
      model: 'mistral-small',
      interactive: 2,
      batch: 31,
      oldestMs: 840,
      refused: 4,
      waited: 212,
      waitP95: 610,
    },
  ],
  rows: [
    {
      route: 'assistant',
      model: 'claude-sonnet',
      deployment: 'claude-sonnet@anthropic',
      backend: 'anthropic',
      running: 19,
      requests: 184,
      errors: 0,
      tokens: 412_300,
      latencyP50: 3120,
      latencyP95: 8460,
      firstTokenP50: 640,
      coldShare: null,
      warmP95: null,
    },
    {
      route: 'assistant',
      model: 'llama-3.1-70b-instruct',
      deployment: 'llama-3.1-70b-instruct@gpu-cluster-eu',
      backend: 'gpu-cluster-eu',
      running: 14,
      requests: 96,
      errors: 2,
      tokens: 151_800,
      latencyP50: 1890,
      latencyP95: 5210,
      firstTokenP50: 210,
      coldShare: null,
      warmP95: null,
    },
    {
      route: 'batch',
      model: 'mistral-small',
      deployment: 'mistral-small@gpu-cluster-us',
      backend: 'gpu-cluster-us',
      running: 6,
      requests: 22,
      errors: 15,
      tokens: 9_400,
      latencyP50: 940,
      latencyP95: 2050,
      firstTokenP50: 120,
      coldShare: null,
      warmP95: null,
    },
    {
      route: 'embeddings',
      model: 'embed-large',
      deployment: 'embed-large@openai',
      backend: 'openai',
      running: 2,
      requests: 240,
      errors: 0,
      tokens: 86_000,
      latencyP50: 88,
      latencyP95: 160,
      firstTokenP50: null,
      coldShare: null,
      warmP95: null,
    },
  ],
};

const ROUTING = {
  models: MODELS.map(([name, backend], at) => ({
    name,
    stage: at === 3 ? 'canary' : 'production',
    fallback: at === 0 ? ['gpt-4o-mini'] : [],
    deployments: [
      {
        id: `${name}@${backend}`,
        backend,
        upstreamModel: name,
        weight: at === 1 ? 80 : 100,
        zone: 'hot',
        stage: 'full',
        percent: 0,
        state:
          (['healthy', 'healthy', 'unknown', 'unknown', 'failing', 'healthy'] as const)[at] ?? ('unknown' as const),
        running: [19, 14, 0, 0, 6, 2][at] ?? 0,
        waiting: 0,
        findings: [],
      },
      ...(at === 1
        ? [
            {
              id: `${name}@gpu-cluster-us`,
              backend: 'gpu-cluster-us',
              upstreamModel: name,
              weight: 20,
              zone: 'hot',
              stage: 'full',
              percent: 0,
              state: 'healthy' as const,
              running: 3,
              waiting: 0,
              findings: [],
            },
          ]
        : []),
    ],
  })),
  routes: [
    {
      id: 'assistant',
      models: ['chat'],
      match: null,
      candidates: [
        { model: 'claude-sonnet', weight: 100, canary: false },
        { model: 'llama-3.1-70b-instruct', weight: 10, canary: true },
      ],
      fallback: ['gpt-4o-mini'],
    },
    {
      id: 'batch',
      models: ['translate'],
      match: "request.headers['x-batch'] == 'yes'",
      candidates: [{ model: 'mistral-small', weight: 100, canary: false }],
      fallback: [],
    },
  ],
};
