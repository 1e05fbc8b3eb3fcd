import { isOfEndpoints, urlAt } from '../../core/probes.ts';
import { endpointOf } from '../endpoint-url.ts';
import type { Path } from '../problem.ts';
import type { CheckContext } from './finding.ts';
import { checkOutgoingUrl } from './outgoing-url.ts';

type Entry = CheckContext['document']['backends'][number];

/** Rules about what a backend's health is found out by. */
export function checkHealth(context: CheckContext, entry: Entry, path: Path): void {
  const { health = {}, allow_link_local, pool } = entry;
  const { problem } = context;
  for (const kind of ['http', 'network', 'service', 'model', 'metrics', 'gpu'] as const) {
    const part = health[kind];
    if (part !== undefined && part.timeout > part.interval)
      problem([...path, kind, 'timeout'], 'must not be longer than the interval');
  }
  for (const kind of ['metrics', 'gpu'] as const) {
    const part = health[kind];
    if (part === undefined) continue;
    if (isOfEndpoints(part) && pool === undefined)
      problem([...path, kind, 'url'], '{host} stands for an endpoint of a pool');
    else checkOutgoingUrl(context, { url: urlAt(part.url, hostOf(entry)), allow_link_local }, [...path, kind, 'url']);
    if (part.stale <= part.interval) problem([...path, kind, 'stale'], 'must be longer than the interval');
  }
  if (health.gpu !== undefined && health.gpu.hysteresis >= health.gpu.max_celsius)
    problem([...path, 'gpu', 'hysteresis'], 'must be smaller than max_celsius');
}

/** Of any endpoint: they are looked at by themselves. */
function hostOf({ endpoints: [first] }: Entry): string {
  const parsed = first === undefined ? { error: '' } : endpointOf(first.url);
  return 'error' in parsed ? '127.0.0.1' : parsed.host;
}
