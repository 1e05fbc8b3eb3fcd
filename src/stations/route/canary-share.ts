import type { RouteContext } from './match-inputs.ts';

/** The share of canaries that a request asks for, 0..1, or null; `note` says what became of its wish. */
export interface CanaryShare {
  readonly share: number | null;
  readonly note: string | null;
}

const HEADER = 'x-canary-percentage';
const PERCENTAGE = /^\d{1,3}$/;

/** Only principals with the scope `canary` may choose. Others are not told so: the header is simply not theirs. */
export function readCanaryShare(ctx: RouteContext): CanaryShare {
  const [value, ...more] = ctx.head.headers.all(HEADER);
  if (value === undefined) return { share: null, note: null };
  if (!ctx.principal.scopes.has('canary')) return { share: null, note: `${HEADER} ignored: no scope canary` };
  const percentage = Number(value);
  if (more.length > 0 || !PERCENTAGE.test(value) || percentage > 100) {
    return { share: null, note: `${HEADER} ignored: not one whole number from 0 to 100` };
  }
  return { share: percentage / 100, note: `canary share ${percentage} %` };
}
