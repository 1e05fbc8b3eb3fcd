import type { Path } from '../problem.ts';
import type { CheckContext } from './finding.ts';
import { checkOutgoingUrl } from './outgoing-url.ts';

type Entry = CheckContext['document']['backends'][number];

/** Rules about what a backend's health is found out by. */
export function checkHealth(context: CheckContext, { health = {}, allow_link_local }: Entry, path: Path): void {
  const { problem } = context;
  for (const kind of ['http', 'network', 'service', 'model', 'metrics', 'gpu'] as const) {
    const part = health[kind];
    if (part !== undefined && part.timeout > part.interval)
      problem([...path, kind, 'timeout'], 'must not be longer than the interval');
  }
  for (const kind of ['metrics', 'gpu'] as const) {
    const part = health[kind];
    if (part === undefined) continue;
    checkOutgoingUrl(context, { url: part.url, allow_link_local }, [...path, kind, 'url']);
    if (part.stale <= part.interval) problem([...path, kind, 'stale'], 'must be longer than the interval');
  }
  if (health.gpu !== undefined && health.gpu.hysteresis >= health.gpu.max_celsius)
    problem([...path, 'gpu', 'hysteresis'], 'must be smaller than max_celsius');
}
