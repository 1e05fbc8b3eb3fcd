import type { LimitLine, LimitState } from '../../core/limit.ts';
import type { AdmitResult } from '../../core/ports/quota-store.ts';

const ZERO = 48;
const NINE = 57;

/** `|<remaining>,<reset ms>` of each line, from there on. Throws `TypeError` for a reply that is not such a one. */
export function readStates(reply: string, from: number, lines: readonly LimitLine[]): LimitState[] {
  let at = from;
  const number = (): number => {
    at += 1;
    const begin = at;
    let value = 0;
    for (let code = reply.charCodeAt(at); code >= ZERO && code <= NINE; code = reply.charCodeAt(at)) {
      value = value * 10 + (code - ZERO);
      at += 1;
    }
    if (at === begin) throw new TypeError('a line is missing in the reply');
    return value;
  };
  return lines.map((line) => ({ line, remaining: number(), resetMs: number() }));
}

/** `h|<remaining>,<reset>|...` or `d,<line>,<wait>|...`. Throws `TypeError` for another one. */
export function readAdmission(reply: string, lines: readonly LimitLine[]): AdmitResult {
  if (reply.startsWith('h')) return { kind: 'held', limits: readStates(reply, 1, lines) };
  const bar = reply.indexOf('|');
  const limits = readStates(reply, bar, lines);
  const [, index, wait] = reply.slice(0, bar).split(',');
  const by = limits[Number(index)];
  if (by === undefined) throw new TypeError('the refusing line is missing in the reply');
  return { kind: 'denied', by, limits, retryAfterMs: Number(wait) };
}
