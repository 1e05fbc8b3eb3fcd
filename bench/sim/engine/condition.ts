/** What is wrong with a host at a moment. */
export interface Condition {
  /** 1 is full speed, 0.1 ten times slower, 0 nothing moves. */
  readonly prefillSpeed: number;
  readonly decodeSpeed: number;
  /** Times as much work for each request that begins now, until it ends, however the host fares later. */
  readonly burden: number;
  /** Share of new requests that fail at once with a 5xx. */
  readonly errorShare: number;
  /** Requests above this number in the host get a 429; null for no such limit. */
  readonly limit: number | null;
}

export const WELL: Condition = { prefillSpeed: 1, decodeSpeed: 1, burden: 1, errorShare: 0, limit: null };

/** A host takes on a condition at a moment (virtual milliseconds) and keeps it until the next. */
export interface Change {
  readonly at: number;
  readonly host: number;
  readonly condition: Condition;
}

/** The ways in which a host may be ill for a while. */
export type FaultKind =
  | 'slow'
  | 'slow-at-start'
  | 'errors'
  | 'hang'
  | 'slow-tokens'
  | 'rejects'
  | 'slow-ramp'
  | 'flapping';

interface Span {
  readonly host: number;
  readonly from: number;
  readonly to: number;
}

const SLOWDOWN = 10;
const RAMP_STEPS = 20;
/** A flapping host is ill for this long, well for as long, and so on. */
const FLAP_MS = 20_000;
/** With 32 slots and two dozen requests in flight: a host that lost most of its room. */
const REJECTING_LIMIT = 4;

/** The changes of one fault; the last one makes the host well again. */
export function changesOf(kind: FaultKind, { host, from, to }: Span): readonly Change[] {
  const change = (at: number, condition: Partial<Condition>): Change => ({
    at,
    host,
    condition: { ...WELL, ...condition },
  });
  const slow = { prefillSpeed: 1 / SLOWDOWN, decodeSpeed: 1 / SLOWDOWN };
  switch (kind) {
    case 'slow':
      return [change(from, slow), change(to, {})];
    case 'slow-at-start':
      return [change(from, { burden: SLOWDOWN }), change(to, {})];
    case 'errors':
      return [change(from, { errorShare: 1 }), change(to, {})];
    case 'hang':
      return [change(from, { prefillSpeed: 0, decodeSpeed: 0 }), change(to, {})];
    case 'slow-tokens':
      return [change(from, { decodeSpeed: 1 / SLOWDOWN }), change(to, {})];
    case 'rejects':
      return [change(from, { limit: REJECTING_LIMIT }), change(to, {})];
    case 'slow-ramp': {
      const steps = Array.from({ length: RAMP_STEPS }, (_, step) => {
        const speed = 1 / (1 + ((SLOWDOWN - 1) * (step + 1)) / RAMP_STEPS);
        return change(from + ((to - from) / 2) * (step / RAMP_STEPS), { prefillSpeed: speed, decodeSpeed: speed });
      });
      return [...steps, change(to, {})];
    }
    case 'flapping': {
      const changes: Change[] = [];
      for (let at = from, ill = true; at < to; at += FLAP_MS, ill = !ill) changes.push(change(at, ill ? slow : {}));
      return [...changes, change(to, {})];
    }
  }
}
