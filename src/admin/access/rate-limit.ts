import { isIPv6 } from 'node:net';
import { Lru } from '../../lib/lru/lru.ts';

const WINDOW_MS = 60_000;
/** Sources and tokens watched at once; the quietest are forgotten first. */
const WATCHED = 10_000;

export interface RateLimit {
  /** Counts one. */
  readonly count: (key: string) => void;
  /** Milliseconds until `key` has fewer than the limit again; 0 = it has. */
  readonly waitMs: (key: string) => number;
}

/** At most `limit` counted in any 60 s for each key. Keeps the time of each: `limit` is small. */
export function createRateLimit({ limit, now }: { readonly limit: number; readonly now: () => number }): RateLimit {
  const seen = new Lru<string, readonly number[]>(WATCHED);
  const recent = (key: string): readonly number[] => (seen.get(key) ?? []).filter((at) => at > now() - WINDOW_MS);
  return {
    count: (key) => seen.set(key, [...recent(key), now()].slice(-limit)),
    waitMs: (key) => {
      const times = recent(key);
      const oldest = times[0];
      return oldest === undefined || times.length < limit ? 0 : Math.ceil(oldest + WINDOW_MS - now());
    },
  };
}

/** One source: an IPv4 address, or the /64 network that one IPv6 customer has. */
export function sourceOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}
