import type { Clock } from '../core/ports/clock.ts';
import { bodyWatchLimit, supportsResetLimits } from '../extproc/grpc/reset-limits.ts';

/** May one more stream be watched up to its first output? Always, where Node's limit on resets can be raised. */
export function bodyWatch(clock: Clock, unlimited = supportsResetLimits()): () => boolean {
  if (unlimited) return () => true;
  let tokens: number = bodyWatchLimit.perSecond;
  let last = clock.now();
  return () => {
    const now = clock.now();
    tokens = Math.min(bodyWatchLimit.perSecond, tokens + ((now - last) / 1000) * bodyWatchLimit.perSecond);
    last = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
