import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderOf } from './counting-upstream.ts';

/** One request of the load and what its client saw. */
export interface Shot {
  readonly id: string;
  readonly stream: boolean;
  /** `performance.now()`. */
  readonly startedAt: number;
  readonly ms: number;
  /** 0: no head came. */
  readonly status: number;
  /** The answer came whole: a body with choices, or a stream with `[DONE]`. */
  readonly complete: boolean;
  /** `error.code` of a body in OpenAI's shape. */
  readonly code: string | null;
  readonly retryAfter: string | null;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface Order {
  readonly id: string;
  readonly stream?: boolean;
  readonly tokens?: number;
  readonly delayMs?: number;
  readonly model?: string;
  /** Words in each piece of a stream. */
  readonly width?: number;
  /** More words of prompt. */
  readonly padding?: string;
  /** What the client allows; the tokens that it will get, by default. */
  readonly maxTokens?: number;
}

export interface Client {
  readonly send: (order: Order) => Promise<Shot>;
  readonly close: () => void;
}

/** A client as SDKs are: keeps its connections, never gives up before `patienceMs`. */
export function createClient(origin: string, token: string, patienceMs = 60_000): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
  return {
    send: (order) => send(origin, token, agent, patienceMs, order),
    close: () => agent.destroy(),
  };
}

function send(origin: string, token: string, agent: http.Agent, patienceMs: number, order: Order): Promise<Shot> {
  const {
    id,
    stream = false,
    tokens = 4,
    delayMs = 0,
    model = 'chaos',
    width = 1,
    padding = '',
    maxTokens = tokens,
  } = order;
  const messages = [{ role: 'user', content: `${padding}${orderOf(id, tokens, delayMs, width)}` }];
  const body = JSON.stringify({ model, stream, max_tokens: maxTokens, messages });
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let text = '';
    let status = 0;
    let headers: http.IncomingHttpHeaders = {};
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      const retryAfter = headers['retry-after'] ?? null;
      resolve({
        id,
        stream,
        startedAt,
        ms: performance.now() - startedAt,
        status,
        retryAfter,
        headers,
        body: text,
        ...judge(text, status, stream),
      });
    };
    const request = http.request(`${origin}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-request-id': id,
        'content-length': Buffer.byteLength(body),
      },
    });
    const timer = setTimeout(() => request.destroy(), patienceMs);
    request.on('response', (response) => {
      status = response.statusCode ?? 0;
      headers = response.headers;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', over).on('error', over).on('close', over);
    });
    request.on('error', over).on('close', over);
    request.end(body);
  });
}

function judge(text: string, status: number, stream: boolean): Pick<Shot, 'complete' | 'code'> {
  if (stream && status === 200)
    return { complete: text.endsWith('data: [DONE]\n\n') && !text.includes('"error"'), code: null };
  try {
    const value = JSON.parse(text) as {
      readonly choices?: readonly unknown[];
      readonly error?: Readonly<Record<string, unknown>>;
    };
    const error = value.error;
    const isOpenAi = typeof error?.['message'] === 'string' && typeof error['type'] === 'string' && 'param' in error;
    return {
      complete: status === 200 && Array.isArray(value.choices),
      code: isOpenAi && typeof error['code'] === 'string' ? error['code'] : null,
    };
  } catch {
    return { complete: false, code: null };
  }
}

export interface LoadOptions {
  readonly client: Client;
  readonly perSecond: number;
  /** Begins every id. */
  readonly name: string;
  /** What request number `index` is like. */
  readonly order?: (index: number) => Omit<Order, 'id'>;
}

export interface Load {
  /** Sends no more; gives all shots when the last has ended. */
  readonly stop: () => Promise<readonly Shot[]>;
  /** What has ended so far. */
  readonly shots: readonly Shot[];
  /** All that was sent before has ended: a `performance.now()`. */
  readonly endedUntil: () => number;
}

/** Sends on time whatever becomes of what was sent before. A third are streams unless `order` says otherwise. */
export function startLoad({ client, perSecond, name, order = mixed }: LoadOptions): Load {
  const shots: Shot[] = [];
  /** By when they were sent, the oldest first. */
  const open = new Map<Promise<void>, number>();
  const began = performance.now();
  let sent = 0;
  let stopped = false;
  const fire = async (index: number): Promise<void> => {
    shots.push(await client.send({ id: `${name}-${index}`, ...order(index) }));
  };
  const tick = (): void => {
    const due = ((performance.now() - began) / 1000) * perSecond;
    for (; sent < due; sent += 1) {
      const shot = fire(sent).finally(() => open.delete(shot));
      open.set(shot, performance.now());
    }
  };
  const timer = setInterval(tick, 5);
  return {
    shots,
    endedUntil: () => open.values().next().value ?? performance.now(),
    async stop() {
      if (!stopped) clearInterval(timer);
      stopped = true;
      while (open.size > 0) await Promise.race([Promise.all(open.keys()), sleep(100)]);
      return shots;
    },
  };
}

function mixed(index: number): Omit<Order, 'id'> {
  return index % 3 === 0 ? { stream: true, tokens: 8, delayMs: 15 } : { tokens: 4, delayMs: 5 };
}

/** The value below which `share` of `values` lie; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
