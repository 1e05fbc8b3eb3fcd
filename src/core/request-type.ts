import type { Arrived } from './context.ts';

/** The type of work that a request says it is, else its endpoint: for books, figures and quality. */
export function requestTypeOf({ head, endpoint }: Pick<Arrived, 'head' | 'endpoint'>): string {
  return head.headers.get('x-request-type') || endpoint;
}
