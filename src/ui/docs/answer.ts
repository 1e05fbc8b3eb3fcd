import type { Operation } from './document.ts';

/** What came back. */
export interface Answer {
  readonly status: number;
  /** Those that matter, by name. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly kind: 'json' | 'csv' | 'text';
  /** Was the body longer than what a page can show? */
  readonly cut: boolean;
  readonly ms: number;
  /** The version of the record, with its quotes. */
  readonly etag: string | null;
  /** Path of what was made. */
  readonly location: string | null;
  readonly cursor: string | null;
  /** Told this once, and never again. */
  readonly secret: string | null;
  readonly trouble: Trouble | null;
}

/** A refusal in words. */
export interface Trouble {
  /** What this kind of refusal means. */
  readonly what: string;
  /** The API's own words; '' = it gave none. */
  readonly message: string;
  /** The field, parameter or header at fault: `limits[0].window`. */
  readonly field: string | null;
  readonly advice: string;
  readonly code: string | null;
}

const SHOWN = ['etag', 'location', 'x-next-cursor', 'retry-after', 'content-type', 'x-request-id'];
const LONGEST = 200_000;

/** Reads an answer. */
export function readAnswer(
  operation: Operation,
  {
    status,
    headers,
    text,
    ms,
  }: { readonly status: number; readonly headers: Headers; readonly text: string; readonly ms: number },
): Answer {
  const type = headers.get('content-type') ?? '';
  const json = type.startsWith('application/json') ? parsed(text) : null;
  const pretty = json === null ? text : JSON.stringify(json, null, 2);
  const ok = status >= 200 && status < 300;
  return {
    status,
    headers: SHOWN.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name === 'etag' ? 'ETag' : name, value] as const];
    }),
    body: pretty.slice(0, LONGEST),
    kind: json === null ? (type.startsWith('text/csv') ? 'csv' : 'text') : 'json',
    cut: pretty.length > LONGEST,
    ms,
    etag: headers.get('etag'),
    location: headers.get('location'),
    cursor: headers.get('x-next-cursor') ?? textIn(json, 'next_cursor'),
    secret: ok ? textIn(json, 'secret') : null,
    trouble: ok ? null : troubleOf(operation, status, json, headers.get('retry-after')),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function textIn(json: unknown, name: string): string | null {
  const value = typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>)[name] : null;
  return typeof value === 'string' ? value : null;
}

function troubleOf(operation: Operation, status: number, json: unknown, retryAfter: string | null): Trouble {
  const error = typeof json === 'object' && json !== null ? (json as { readonly error?: unknown }).error : null;
  const meaning = operation.replies.find((reply) => reply.status === status)?.meaning ?? '';
  return {
    what: HEADS[status] ?? `The API answered with HTTP ${status}.`,
    message: textIn(error, 'message') ?? '',
    field: textIn(error, 'param'),
    advice: ADVICE[status]?.(retryAfter) ?? meaning,
    code: textIn(error, 'code'),
  };
}

const HEADS: Readonly<Record<number, string>> = {
  400: 'The request is wrong.',
  401: 'This token does not open the admin API.',
  403: 'This token may not do this.',
  404: 'There is no such thing.',
  409: 'This cannot be done now.',
  412: 'Nothing was changed: the version is old.',
  413: 'The body is too large.',
  428: 'The version is missing.',
  429: 'Too many requests were made.',
  500: 'The server failed.',
  503: 'The server cannot do this right now.',
};

const ADVICE: Readonly<Record<number, (retryAfter: string | null) => string>> = {
  400: () => 'Change it and send it again: nothing was done.',
  401: () => 'It may be mistyped, expired or taken out of the configuration. Sign in with another one.',
  412: () => 'Your ETag is an old one. Read it again before you change it.',
  428: () => 'Read it first: its ETag is filled in for you.',
  429: (seconds) => (seconds === null ? 'Wait a while.' : `Try again in ${seconds} s.`),
  503: () => 'What was sent may still be done. Send it again with the same Idempotency-Key: it is not done twice.',
};

/** No answer came: no connection, not in time, or a redirection. */
export const NO_ANSWER: Trouble = {
  what: 'The admin API does not answer.',
  message: '',
  field: null,
  advice:
    'It may be restarting, or the connection is gone. A write may have been done: send it again with the same Idempotency-Key.',
  code: null,
};
