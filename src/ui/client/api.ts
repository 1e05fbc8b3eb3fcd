import type { List } from '../data/wire.ts';
import { AWAY, problemOf } from './problem.ts';
import type { Problem } from './problem.ts';

export type Query = Readonly<Record<string, string | number | null | undefined>>;
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Reads of the admin API. Nothing throws: what goes wrong is a `Problem`. */
export interface Api {
  readonly get: <T>(path: string, query?: Query) => Promise<Result<T>>;
  /** A list with its further pages, as far as a screen can show them; `whole`: is it all? */
  readonly list: <T>(path: string, query?: Query) => Promise<Result<Listed<T>>>;
}

export interface Listed<T> {
  readonly rows: readonly T[];
  readonly whole: boolean;
}

export interface ApiOptions {
  readonly fetch: typeof globalThis.fetch;
  /** Address of the page: the API lies beside it, and the token goes nowhere else. */
  readonly base: string;
  readonly token: string;
  /** Default: 15 s. */
  readonly timeoutMs?: number;
}

const MOST_PAGES = 20;

export function createApi({ fetch, base, token, timeoutMs = 15_000 }: ApiOptions): Api {
  const { origin } = new URL(base);

  async function get<T>(path: string, query: Query = {}): Promise<Result<T>> {
    const url = new URL(`admin/${path}`, base);
    if (url.origin !== origin) throw new RangeError(`the token stays at ${origin}`);
    for (const [name, value] of Object.entries(query))
      if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
    try {
      const response = await fetch(url.href, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const body: unknown = await response.json().catch(() => null);
      if (response.ok && typeof body === 'object' && body !== null) return { ok: true, value: body as T };
      return { ok: false, problem: refusal(response, body) };
    } catch {
      // No connection, no answer in time, a redirection: the reason is not told to scripts.
      return { ok: false, problem: AWAY };
    }
  }

  async function list<T>(path: string, query: Query = {}): Promise<Result<Listed<T>>> {
    const rows: T[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const result: Result<List<T>> = await get<List<T>>(path, { ...query, cursor });
      if (!result.ok) return result;
      rows.push(...result.value.data);
      cursor = result.value.next_cursor;
      if (cursor === null) return { ok: true, value: { rows, whole: true } };
    }
    return { ok: true, value: { rows, whole: false } };
  }

  return { get, list };
}

function refusal(response: Response, body: unknown): Problem {
  const { code = null, message = null } =
    (body as { readonly error?: { readonly code?: string; readonly message?: string } } | null)?.error ?? {};
  return problemOf({ status: response.status, code, message, retryAfter: response.headers.get('retry-after') });
}

/** Can it be a token? Anything else could not even be sent. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,8192}$/.test(text);
