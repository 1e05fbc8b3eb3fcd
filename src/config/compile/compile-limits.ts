import type { Concurrency, Queue, Rates } from '../../core/deployment-limits.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { ConfigDocument } from '../schema/document.ts';

type LimitsEntry = ConfigDocument['models'][number]['deployments'][number]['limits'];

const SAFETY = 0.7;
const BURST_MS = 1000;
const QUEUE_BYTES = 64 * 1024 * 1024;
const QUEUE_TIMEOUT_MS = 2000;

/** What a deployment takes. The nearest word wins: profile, deployment, backend. */
export function compileLimits({
  short,
  own,
  shared,
  endpoints,
}: {
  /** `profile.max_concurrency`. */
  readonly short: number | undefined;
  readonly own: LimitsEntry;
  readonly shared: LimitsEntry;
  readonly endpoints: number;
}): Required<Pick<Deployment, 'concurrency' | 'rates' | 'queue'>> {
  return {
    concurrency: concurrencyOf(short, own, endpoints) ?? concurrencyOf(undefined, shared, endpoints, own?.safety),
    rates: ratesOf(own, shared),
    queue: queueOf(own, shared),
  };
}

function concurrencyOf(
  short: number | undefined,
  limits: LimitsEntry,
  endpoints: number,
  nearer?: number,
): Concurrency | null {
  const limit = short ?? limits?.concurrency;
  if (limit !== undefined) return { limit, perInstance: null };
  const slots = limits?.per_instance;
  if (slots === undefined) return null;
  const safety = nearer ?? limits?.safety ?? SAFETY;
  return { limit: Math.max(1, Math.floor(slots * endpoints * safety + 1e-9)), perInstance: { slots, safety } };
}

function ratesOf(own: LimitsEntry, shared: LimitsEntry): Rates | null {
  const tokensPerSecond = own?.tokens_per_second ?? shared?.tokens_per_second ?? null;
  const requestsPerSecond = own?.requests_per_second ?? shared?.requests_per_second ?? null;
  if (tokensPerSecond === null && requestsPerSecond === null) return null;
  return { tokensPerSecond, requestsPerSecond, burstMs: own?.burst ?? shared?.burst ?? BURST_MS };
}

function queueOf(own: LimitsEntry, shared: LimitsEntry): Queue {
  return {
    size: own?.queue?.size ?? shared?.queue?.size ?? 0,
    bytes: own?.queue?.bytes ?? shared?.queue?.bytes ?? QUEUE_BYTES,
    timeoutMs: own?.queue?.timeout ?? shared?.queue?.timeout ?? QUEUE_TIMEOUT_MS,
    text: own?.text ?? shared?.text ?? null,
  };
}
