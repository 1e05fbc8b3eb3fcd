import type { RouteContext } from './match-inputs.ts';

/** Who asks, as far as a split keeps to it: the session where one is named, else the tenant's subject. */
export function subjectOf({ head, principal }: Pick<RouteContext, 'head' | 'principal'>): string {
  const session = sessionOf({ head });
  return JSON.stringify([principal.tenant, session === null ? 'subject' : 'session', session ?? principal.subject]);
}

/** `x-session-id`; null = none. */
export function sessionOf({ head }: Pick<RouteContext, 'head'>): string | null {
  return head.headers.get('x-session-id') || null;
}
