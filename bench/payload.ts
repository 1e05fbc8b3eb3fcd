import { createHmac } from 'node:crypto';
import { BENCH_SECRET } from './setups/gateway-config.ts';

/** A request that the load generator sends. */
export interface Payload {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Milliseconds between two events of its answer; null where it is no stream. */
  readonly paceMs: number | null;
}

export interface ChatOptions {
  readonly name: string;
  readonly promptBytes: number;
  /** A stream of so many chunks, one every `paceMs`; absent for a whole answer. */
  readonly stream?: { readonly chunks: number; readonly paceMs: number };
  /** How long the model server thinks about a whole answer. */
  readonly delayMs?: number;
  /** Every so manieth answer of the model server is 503; 0 for none. */
  readonly failEvery?: number;
}

const SENTENCE = 'Please say hello to everyone who reads this, and keep it short and friendly. ';

/** A chat of about `promptBytes`. It begins with what the model server is to do: every gateway passes that on as it is. */
export function chatPayload({ name, promptBytes, stream, delayMs = 0, failEvery = 0 }: ChatOptions): Payload {
  const order = `bench-c${stream?.chunks ?? 0}-p${stream?.paceMs ?? 0}-d${delayMs}-f${failEvery} `;
  const content = order + SENTENCE.repeat(Math.ceil(promptBytes / SENTENCE.length)).slice(order.length, promptBytes);
  const body = {
    model: 'bench-chat',
    ...(stream === undefined ? {} : { stream: true }),
    max_tokens: 200,
    messages: [{ role: 'user', content }],
  };
  return payload(name, '/v1/chat/completions', { body, paceMs: stream?.paceMs ?? null });
}

/** Embeddings of so many short texts. */
export function embeddingsPayload(name: string, inputs: number): Payload {
  const input = Array.from({ length: inputs }, (_, at) => `${at}: ${SENTENCE}`);
  const body = { model: 'bench-embed', encoding_format: 'float', input };
  return payload(name, '/v1/embeddings', { body, paceMs: null });
}

export interface Senders {
  /** Stands before the path of the payload. */
  readonly pathPrefix?: string;
  /** On top of those of the payload. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests come in turn from so many tenants, `tenant-0` and on; absent for the one tenant of most setups. */
  readonly tenants?: number;
}

/** What goes out, one request after the other in turn. */
export function rawRequests(payload: Payload, senders: Senders): readonly Buffer[] {
  const { pathPrefix = '', headers = {}, tenants = 0 } = senders;
  const sent = { ...payload, path: `${pathPrefix}${payload.path}` };
  if (tenants === 0) return [rawRequest(sent, headers)];
  return Array.from({ length: tenants }, (_, at) => rawRequest(asTenant(sent, at), headers));
}

/** The same from `tenant-<at>`. */
export function asTenant(payload: Payload, at: number): Payload {
  return { ...payload, headers: { ...payload.headers, authorization: `Bearer ${token(`tenant-${at}`)}` } };
}

function rawRequest({ path, headers, body }: Payload, more: Readonly<Record<string, string>>): Buffer {
  const fields = Object.entries({ ...headers, ...more, 'content-length': String(body.length) });
  const head = `POST ${path} HTTP/1.1\r\n${fields.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

interface Content {
  readonly body: object;
  readonly paceMs: number | null;
}

function payload(name: string, path: string, { body, paceMs }: Content): Payload {
  return {
    name,
    path,
    paceMs,
    headers: {
      host: 'bench.test',
      'user-agent': 'tokenlat-bench',
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: `Bearer ${token('bench-team')}`,
    },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function token(tenant: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'bench', sub: 'bench-user', jti: `token-of-${tenant}`, iat: now, exp: now + 86_400 };
  const more = { tenant, models: ['bench-*'], quota_daily: 1_000_000_000_000 };
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...claims, ...more })}`;
  return `${signed}.${createHmac('sha256', BENCH_SECRET).update(signed).digest('base64url')}`;
}
