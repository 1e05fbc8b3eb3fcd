import type { Finding } from '../../core/finding.ts';
import { readSeries, type Series } from '../../lib/prometheus/read-series.ts';

/** What a model server says of its load. */
export interface ServerLoad {
  readonly running: number | null;
  readonly waiting: number;
  /** 0..1: the share of the cache for prompts in use; null = it does not say. */
  readonly cache: number | null;
}

/** What the figures are called by the servers that have them. */
const NAMES = {
  running: ['vllm:num_requests_running', 'sglang:num_running_reqs'],
  waiting: ['vllm:num_requests_waiting', 'sglang:num_queue_reqs'],
  cache: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc', 'sglang:token_usage'],
} as const;
const WANTED: ReadonlySet<string> = new Set(Object.values(NAMES).flat());

/** Engines of one server are added up; of caches the fullest counts. Null where the text is not of such a server. */
export function readLoad(text: string): ServerLoad | null {
  const found = readSeries(text, WANTED);
  const valuesOf = (names: readonly string[]): readonly number[] => {
    const series = names.map((name) => found.get(name)).find((each) => each !== undefined) ?? [];
    return series.map(({ value }: Series) => value).filter((value) => Number.isFinite(value) && value >= 0);
  };
  const sum = (values: readonly number[]): number | null =>
    values.length === 0 ? null : values.reduce((all, value) => all + value, 0);
  const waiting = sum(valuesOf(NAMES.waiting));
  if (waiting === null) return null;
  const caches = valuesOf(NAMES.cache);
  return { running: sum(valuesOf(NAMES.running)), waiting, cache: caches.length === 0 ? null : Math.max(...caches) };
}

/** Even the longest queue leaves this much: a queue is no fault, and its server must be able to come back. */
const LEAST = 0.1;
const FULL_CACHE = 0.5;

/** Above `queue` waiting requests the factor falls as the queue grows; a full cache halves it. Null: all is well. */
export function judgeLoad(
  { running, waiting, cache }: ServerLoad,
  limits: { readonly queue: number; readonly cache: number },
): Omit<Finding, 'until'> | null {
  const detail = `${waiting} waiting${running === null ? '' : `, ${running} running`}${cache === null ? '' : `, cache ${Math.round(cache * 100)} %`}`;
  const byQueue = waiting > limits.queue ? Math.max(LEAST, limits.queue / waiting) : 1;
  const byCache = cache !== null && cache > limits.cache ? FULL_CACHE : 1;
  if (byQueue === 1 && byCache === 1) return null;
  return byQueue <= byCache
    ? { factor: byQueue, reason: 'queue_long', detail }
    : { factor: byCache, reason: 'cache_full', detail };
}
