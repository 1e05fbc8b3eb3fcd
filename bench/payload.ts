import { createHmac } from 'node:crypto';
import { BENCH_SECRET } from './setups/gateway-config.ts';

/** A request that the load generator sends. */
export interface Payload {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
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
  return payload(name, '/v1/chat/completions', body);
}

/** Embeddings of so many short texts. */
export function embeddingsPayload(name: string, inputs: number): Payload {
  const input = Array.from({ length: inputs }, (_, at) => `${at}: ${SENTENCE}`);
  return payload(name, '/v1/embeddings', { model: 'bench-embed', encoding_format: 'float', input });
}

export interface Senders {
  /** On top of those of the payload. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests come in turn from so many tenants, `tenant-0` and on; absent for the one tenant of most setups. */
  readonly tenants?: number;
}

/** What goes out, one request after the other in turn. */
export function rawRequests(payload: Payload, { headers = {}, tenants = 0 }: Senders): readonly Buffer[] {
  if (tenants === 0) return [rawRequest(payload, headers)];
  return Array.from({ length: tenants }, (_, at) => rawRequest(asTenant(payload, at), headers));
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

function payload(name: string, path: string, body: object): Payload {
  return {
    name,
    path,
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
