/** Why something could not be read, in words for whoever looks at the page, with what to do. */
export interface Problem {
  readonly kind: 'signed-out' | 'forbidden' | 'busy' | 'unavailable' | 'away' | 'fault';
  readonly what: string;
  readonly advice: string;
  /** How long to wait before the next try, milliseconds; null = as long as usual. */
  readonly waitMs: number | null;
}

const MINUTE = 60_000;

/** The API could not be reached at all, or not in time. */
export const AWAY: Problem = {
  kind: 'away',
  what: 'The admin API does not answer.',
  advice: 'It may be restarting, or the connection is gone. This page goes on trying.',
  waitMs: null,
};

/** What an answer that is no success means. `message`: the API's own words, where it gave any. */
export function problemOf({
  status,
  code,
  message,
  retryAfter,
}: {
  readonly status: number;
  readonly code: string | null;
  readonly message: string | null;
  /** Header, in seconds. */
  readonly retryAfter: string | null;
}): Problem {
  const waitMs = retryAfter !== null && /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) * 1000 : null;
  const told = message === null ? '' : ` It says: ${message}`;
  switch (status) {
    case 401:
      return {
        kind: 'signed-out',
        what: 'This token does not open the admin API.',
        advice: 'It may be mistyped, expired or taken out of the configuration. Sign in with another one.',
        waitMs: null,
      };
    case 403:
      return { kind: 'forbidden', ...forbidden(code), waitMs: MINUTE };
    case 429:
      return {
        kind: 'busy',
        what: 'Too many requests were made with this token or from this place.',
        advice: 'This page waits and then goes on by itself. Close other copies of it if that happens often.',
        waitMs: waitMs ?? 10_000,
      };
    case 503:
      return {
        kind: 'unavailable',
        what: 'The store behind the admin API is out of reach.',
        advice: `Is Redis up, and does readiness name a reason? This page goes on trying.${told}`,
        waitMs,
      };
    default:
      return {
        kind: 'fault',
        what: `The admin API answered with HTTP ${status}.`,
        advice: `If it stays, the log of the server tells more.${told}`,
        waitMs,
      };
  }
}

function forbidden(code: string | null): Pick<Problem, 'what' | 'advice'> {
  if (code === 'tenant_not_allowed')
    return {
      what: 'Your token is for one tenant, and this is about the whole gateway.',
      advice: 'A token for all tenants shows it.',
    };
  return {
    what: 'Your token may not read this.',
    advice: 'Ask an administrator for a token with a role that may.',
  };
}
