import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { isLoopback } from '../lib/address/address.ts';
import { ApiError } from './api-error.ts';
import { printable } from './printable.ts';
import { UserError, WordsError } from './user-error.ts';

/** A record or a list, as the API gives it. */
export type Answer = Readonly<Record<string, unknown>>;
export type Query = Readonly<Record<string, string | number | undefined>>;

export interface AdminClient {
  /** Throws `ApiError` for what the API refuses, `UserError` when it cannot be reached. */
  readonly get: (path: string, query?: Query) => Promise<{ readonly body: Answer; readonly etag: string | null }>;
  /** The same; null for a 404. */
  readonly find: (path: string) => Promise<{ readonly body: Answer; readonly etag: string | null } | null>;
  /** All pages of a list. */
  readonly list: (path: string, query?: Query) => Promise<readonly Answer[]>;
  /** One write under an `Idempotency-Key` of its own: when its answer is lost on the way, it is asked for once more. */
  readonly write: (
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    options?: { readonly body?: Answer; readonly etag?: string | null },
  ) => Promise<Answer>;
}

export interface AdminClientOptions {
  /** `https://gateway.example:9903`, with a path where something stands in front. */
  readonly url: string;
  readonly token: string;
  /** PEM: who signed the server's certificate, and what this client shows. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Default: 15 s. */
  readonly timeoutMs?: number;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

interface Came {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_PAGES = 10_000;
/** The connection ended under way: whether it was done, only a repetition can tell. */
const LOST = new Set(['ECONNRESET', 'EPIPE']);

/** Makes `/admin/keys/key_1` of parts, whatever characters they hold. */
export function pathOf(...parts: readonly string[]): string {
  return ['/admin', ...parts.map(encodeURIComponent)].join('/');
}

/** Speaks with the admin API. Throws `UserError` for an address that a token must not go to. */
export function createAdminClient({ url, token, tls = {}, timeoutMs = TIMEOUT_MS }: AdminClientOptions): AdminClient {
  const base = baseOf(url);
  const auth = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const send = (asked: Asked): Promise<Came> => exchange(base, { ...asked, headers: { ...auth, ...asked.headers } });

  async function exchange(to: URL, asked: Asked): Promise<Came> {
    try {
      return await once(to, asked, { ...tls, timeoutMs });
    } catch (error) {
      if (!LOST.has((error as NodeJS.ErrnoException).code ?? '')) throw unreachable(to, error);
    }
    return await once(to, asked, { ...tls, timeoutMs }).catch((error: unknown) => {
      throw unreachable(to, error);
    });
  }

  async function get(path: string, query: Query = {}) {
    const came = await send({ method: 'GET', path: path + queryOf(query), headers: {}, body: null });
    return { body: bodyOf(came), etag: came.headers.etag ?? null };
  }

  return {
    get,
    find: async (path) => {
      try {
        return await get(path);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'not_found') return null;
        throw error;
      }
    },
    list: async (path, query = {}) => {
      const all: Answer[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const { body } = await get(path, { limit: 200, ...query, cursor });
        if (!Array.isArray(body['data'])) throw new UserError(`${base.origin} gave no list: is it the admin API?`);
        all.push(...(body['data'] as Answer[]));
        const next = body['next_cursor'];
        if (typeof next !== 'string' || next === cursor) return all;
        cursor = next;
      }
      throw new UserError('the list does not end');
    },
    write: async (method, path, { body, etag = null } = {}) => {
      const headers: Record<string, string> = { 'idempotency-key': randomUUID() };
      if (body !== undefined) headers['content-type'] = 'application/json';
      if (etag !== null) headers['if-match'] = etag;
      return bodyOf(await send({ method, path, headers, body: body === undefined ? null : JSON.stringify(body) }));
    },
  };
}

function baseOf(text: string): URL {
  if (!URL.canParse(text)) throw new WordsError(`not a URL: ${printable(text)}`);
  const url = new URL(text);
  const bare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!/^https?:$/.test(url.protocol) || !bare)
    throw new WordsError('the address of the admin API is http://HOST:PORT or https://HOST:PORT, without credentials');
  if (url.protocol === 'http:' && !isLoopback(hostOf(url)))
    throw new UserError(`the token would go to ${url.host} in the clear: use https`);
  return url;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

function queryOf(query: Query): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.append(key, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** One request. Nothing is followed elsewhere: a redirection is an answer like others. */
function once(
  base: URL,
  { method, path, headers, body }: Asked,
  { timeoutMs, ...tls }: { readonly timeoutMs: number } & NonNullable<AdminClientOptions['tls']>,
): Promise<Came> {
  const { request } = base.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const asked = request({
      ...tls,
      host: hostOf(base),
      port: base.port,
      method,
      path: base.pathname.replace(/\/+$/, '') + path,
      headers: body === null ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    asked.on('error', reject);
    asked.on('response', (response) => {
      const pieces: Buffer[] = [];
      let size = 0;
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size > MOST_BYTES) asked.destroy(new Error('the answer is too large'));
        else pieces.push(piece);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(pieces).toString('utf8'),
        }),
      );
    });
    asked.end(body ?? undefined);
  });
}

function bodyOf({ status, text }: Came): Answer {
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Told below, with the status.
  }
  if (status < 200 || status > 299) throw new ApiError(status, body);
  if (typeof body !== 'object' || body === null)
    throw new UserError(`HTTP ${status} without a JSON object: is this the admin API?`);
  return body as Answer;
}

function unreachable(base: URL, cause: unknown): UserError {
  const { name, code, message } = cause as NodeJS.ErrnoException;
  const why = name === 'TimeoutError' || name === 'AbortError' ? 'no answer in time' : code || message;
  return new UserError(`the admin API does not answer at ${base.origin} (${printable(why)})`);
}
