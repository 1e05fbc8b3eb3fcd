import { setTimeout as sleep } from 'node:timers/promises';

/** Polls `check` until it is true. False when `timeoutMs` has passed or `signal` fired first. */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  { timeoutMs, everyMs = 25, stop = () => false }: { timeoutMs: number; everyMs?: number; stop?: () => boolean },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!stop() && performance.now() < deadline) {
    if (await check()) return true;
    await sleep(everyMs);
  }
  return false;
}
