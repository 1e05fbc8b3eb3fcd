import { createHmac } from 'node:crypto';
import { BENCH_SECRET } from './setups/gateway-config.ts';

/** A request that the load generator sends. */
export interface Payload {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const SENTENCE = 'Please say hello to everyone who reads this, and keep it short and friendly. ';

/** A chat of about `promptBytes`, streamed or not. */
export function chatPayload(name: string, promptBytes: number, stream: boolean): Payload {
  const content = SENTENCE.repeat(Math.ceil(promptBytes / SENTENCE.length)).slice(0, promptBytes);
  const body = {
    model: 'bench-chat',
    ...(stream ? { stream } : {}),
    max_tokens: 200,
    messages: [{ role: 'user', content }],
  };
  return {
    name,
    path: '/v1/chat/completions',
    headers: {
      host: 'bench.test',
      'user-agent': 'tokenlat-bench',
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: `Bearer ${token()}`,
    },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** The request as the bytes that go out. */
export function rawRequest({ path, headers, body }: Payload): Buffer {
  const fields = Object.entries({ ...headers, 'content-length': String(body.length) });
  const head = `POST ${path} HTTP/1.1\r\n${fields.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function token(): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'bench', sub: 'bench-user', jti: 'bench-token', iat: now, exp: now + 86_400 };
  const more = { tenant: 'bench-team', models: ['bench-*'], quota_daily: 1_000_000_000_000 };
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...claims, ...more })}`;
  return `${signed}.${createHmac('sha256', BENCH_SECRET).update(signed).digest('base64url')}`;
}
