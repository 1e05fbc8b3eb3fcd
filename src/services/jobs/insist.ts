import { setTimeout as sleep } from 'node:timers/promises';

/** Does `work` again each `everyMs` while it rejects, `tries` times at the most. Rejects with the last reason. */
export async function insist<T>(
  work: () => Promise<T>,
  { tries, everyMs, signal }: { readonly tries: number; readonly everyMs: number; readonly signal?: AbortSignal },
): Promise<T> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      return await work();
    } catch (reason) {
      if (left <= 0 || signal?.aborted === true) throw reason;
      await sleep(everyMs, undefined, { ref: false, ...(signal === undefined ? {} : { signal }) }).catch(() => {});
    }
  }
}
