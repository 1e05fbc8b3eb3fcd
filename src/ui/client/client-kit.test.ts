/** What the tests of the client share: time in the test's hand, and a server that answers as it is told. */

/** Timers that run when the test says so. */
export function fakeTime() {
  let now = 1_000_000;
  let timers: { readonly at: number; readonly done: () => void }[] = [];
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    time: () => now,
    later: (ms: number, done: () => void) => {
      const timer = { at: now + ms, done };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
    waiting: () => timers.length,
    /** Lets time pass, and all that it starts come to its end. */
    pass: async (ms: number): Promise<void> => {
      const end = now + ms;
      await settle();
      for (;;) {
        const [next] = timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers = timers.filter((each) => each !== next);
        now = Math.max(now, next.at);
        next.done();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}

export interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

/** A `fetch` that answers by path; an `Error` is a connection that fails. */
export function fakeFetch(
  answer: (url: URL) => { status?: number; body?: unknown; headers?: Record<string, string> } | Error,
) {
  const asked: Asked[] = [];
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const url = input instanceof Request ? input.url : input.toString();
    asked.push({ url, init });
    const found = answer(new URL(url));
    if (found instanceof Error) throw found;
    const { status = 200, body = {}, headers = {} } = found;
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
  };
  return { fetch, asked };
}
