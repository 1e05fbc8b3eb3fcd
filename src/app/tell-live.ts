import { hostname } from 'node:os';
import { publishLive, type PublishLiveOptions } from '../control/live/publish-live.ts';
import { systemClock } from '../core/ports/clock.ts';

/** Tells all replicas what this worker does. The workers of one server are children of one process, which names it. */
export function tellLive(
  options: Pick<PublishLiveOptions, 'figures' | 'store' | 'worker' | 'running'>,
): ReturnType<typeof publishLive> {
  return publishLive({ ...options, replica: `${hostname()}-${process.ppid}`, clock: systemClock });
}
