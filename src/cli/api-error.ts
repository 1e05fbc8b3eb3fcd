import { printable } from './printable.ts';

/** Exit codes of what the admin API says: 2 the words are off, 5 not allowed, 6 somebody or something stands in the way. */
const EXIT: Readonly<Record<number, number>> = { 400: 2, 401: 5, 403: 5, 409: 6, 412: 6, 428: 6 };
const MOST = 500;

/** The admin API said no. `message` is one line with its code. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, answer: unknown) {
    const { code, message, param } = partsOf(answer);
    const place = param === null || message.startsWith(param) ? '' : `${param}: `;
    super(printable(`${code || 'no code'} (HTTP ${status}): ${place}${message || 'no reason given'}`).slice(0, MOST));
    this.status = status;
    this.code = code;
  }

  get exitCode(): number {
    return EXIT[this.status] ?? 1;
  }
}

/** What an error object of OpenAI's form holds; an answer of some other server holds nothing. */
function partsOf(answer: unknown): { code: string; message: string; param: string | null } {
  const error = (answer as { error?: Record<string, unknown> } | null | undefined)?.error ?? {};
  const text = (key: string): string => (typeof error[key] === 'string' ? error[key] : '');
  return { code: text('code'), message: text('message'), param: text('param') || null };
}
