import type { ConfigPart } from '../support/gateway.ts';
import type { ConfigHint, HintBackend, HintLimits, Report } from './report.ts';

/** What must run for a case. Cases with the same `key` can share it. */
export interface CasePlan {
  readonly key: string;
  /** Names of the backends; their addresses are `@NAME` in `config` until they run. */
  readonly backends: readonly string[];
  readonly config: ConfigPart;
  readonly workers: number;
  /** Needs a Redis that the case may stop, or that outlives other gateways of this process. */
  readonly ownRedis: boolean;
  /** Names of the key pairs in the issuer's set; `@jwks` stands for the address of the set, `jwks.json` is a file. */
  readonly keys: readonly string[];
}

/** Seconds of the reports' clock as waits of ours: a key set may be loaded again after one, and is too old after five. */
export const CLOCK = { cooldown: '1s', cooledMs: 1200, refresh: '5s', agedMs: 5500 } as const;

/** Settings that reports describe in words. */
const NOTES: Readonly<Record<string, ConfigPart>> = {
  'max body 16 MiB; Envoy buffer limits raised to match; repeat with 20 MiB': { limits: { body: '16MiB' } },
  'per-connection buffer limit 32768 on purpose': { limits: { body: '32KiB' } },
};

/** A prompt of that size must not fail for the context that a deployment has by default. */
const LONG_PROMPTS = 'limits above 2 MiB';

/** `on_redis_error` in our words. A local fallback does not exist here. */
export const STORE_ERROR_POLICIES = { open: 'allow', closed: 'deny' } as const;
export type StoreErrorPolicy = keyof typeof STORE_ERROR_POLICIES;

export interface PlanOptions {
  readonly policy?: StoreErrorPolicy | null;
  readonly ownRedis?: boolean;
}

/** Turns a hint into a configuration. */
export function planOf({ hint }: Report, { policy = null, ownRedis = false }: PlanOptions = {}): CasePlan {
  const { backends } = hint;
  const redisIsOwn = ownRedis || hint.limits?.on_redis_error !== undefined;
  const config = {
    backends: backends.map(backendOf),
    ...modelsOf(hint, backends),
    ...(hint.aliases === undefined ? {} : { aliases: hint.aliases }),
    ...limitsOf(hint.limits),
    ...(policy === null ? {} : { ledger: { on_store_error: STORE_ERROR_POLICIES[policy] } }),
    ...(redisIsOwn ? { redis: { url: '@redis', command_timeout: `${hint.limits?.redis_timeout_ms ?? 200}ms` } } : {}),
    ...authOf(hint),
    ...NOTES[hint.note ?? ''],
  };
  const plan = {
    backends: backends.map(({ name }) => name),
    config,
    workers: hint.limits?.processes ?? hint.processes ?? 1,
    ownRedis: redisIsOwn,
    keys: hint.auth?.jwks ?? [],
  };
  return { key: JSON.stringify(plan), ...plan };
}

function backendOf({ name, kind, version, key }: HintBackend): ConfigPart {
  const options = kind === 'vllm' ? { server: 'vllm', ...(version === undefined ? {} : { version }) } : {};
  return {
    name,
    dialect: kind === 'anthropic' ? 'anthropic' : 'openai',
    endpoints: [{ url: `@${name}` }],
    options,
    ...(key === undefined ? {} : { credentials: credentialsOf(kind, key) }),
  };
}

function credentialsOf(kind: string, key: string): ConfigPart {
  return kind === 'anthropic'
    ? { header: 'x-api-key', value: key }
    : { header: 'authorization', value: `Bearer ${key}` };
}

function modelsOf(hint: ConfigHint, backends: readonly HintBackend[]): ConfigPart {
  const routed = new Map(Object.entries(hint.route ?? {}));
  const served = [...new Set(backends.flatMap(({ serves }) => serves))].filter((name) => !routed.has(name));
  const models = served.map((name) => ({
    name,
    deployments: backends
      .filter(({ serves }) => serves.includes(name))
      .map((backend) => deploymentOf(backend, hint, backend.upstream_model)),
  }));
  // A list of backends by priority: each is a model of its own here, so that records name what really served.
  const routes = [...routed].map(([name, { priority }]) => {
    const [first, ...others] = priority.map((backend) => upstreamModel(backends, backend));
    return { name: `${name}-by-priority`, models: [name], candidates: [{ model: first }], fallback: others };
  });
  const routedModels = [...new Set([...routed.values()].flatMap(({ priority }) => priority))].map((name) => ({
    name: upstreamModel(backends, name),
    deployments: backends.filter((one) => one.name === name).map((backend) => deploymentOf(backend, hint)),
  }));
  const retries = [...routed.values()].map(({ max_attempts: most = 3 }) => most - 1);
  return {
    models: [...models, ...routedModels],
    ...(routes.length === 0 ? {} : { routes, retry: { retries: Math.max(...retries) } }),
  };
}

function upstreamModel(backends: readonly HintBackend[], name: string): string {
  const model = backends.find((backend) => backend.name === name)?.upstream_model;
  if (model === undefined) throw new Error(`no model of backend ${name}`);
  return model;
}

function deploymentOf(backend: HintBackend, { limits, note }: ConfigHint, model?: string): ConfigPart {
  const price = backend.price_per_m;
  return {
    backend: backend.name,
    ...(model === undefined ? {} : { model }),
    ...(price === undefined
      ? {}
      : {
          price: {
            prompt_per_mtok: price.in,
            completion_per_mtok: price.out,
            ...(price.cached_in === undefined ? {} : { cached_per_mtok: price.cached_in }),
            ...(price.above === undefined
              ? {}
              : {
                  tiers: {
                    mode: price.above.mode,
                    above: [{ tokens: price.above.tokens, prompt_per_mtok: price.above.in }],
                  },
                }),
          },
        }),
    ...(limits?.max_parallel === undefined ? {} : { limits: { concurrency: limits.max_parallel } }),
    ...(note === LONG_PROMPTS ? { profile: { context: 1_000_000 } } : {}),
    ...(backend.default_max_tokens === undefined
      ? {}
      : { profile: { default_max_tokens: backend.default_max_tokens } }),
    // Tokens are always reserved here; next to nothing for the answer comes closest to no reservation.
    ...(limits?.reserve === false ? { profile: { default_max_tokens: 1 } } : {}),
  };
}

function limitsOf(limits: HintLimits | undefined): ConfigPart {
  if (limits === undefined) return {};
  const { requests_per_min: requests, tokens_per_min: tokens } = limits;
  return {
    tenant_defaults: {
      subject_limits: {
        ...(requests === undefined ? {} : { requests_per_minute: requests }),
        ...(tokens === undefined ? {} : { tokens_per_minute: tokens }),
      },
    },
  };
}

function authOf({ auth }: ConfigHint): ConfigPart {
  if (auth === undefined) return {};
  const jwks =
    auth.jwks_url === undefined
      ? { file: 'jwks.json' }
      : { url: '@jwks', cooldown: CLOCK.cooldown, refresh: CLOCK.refresh };
  const { issuer, audience, clock_skew_s: skew } = auth;
  return {
    auth: {
      // The reports' tokens name no tenant: each subject is its own.
      issuers: [{ issuer, audience, algorithms: ['RS256'], jwks, claims: { tenant: 'sub' } }],
      ...(skew === undefined ? {} : { clock_skew: `${skew}s` }),
    },
  };
}
