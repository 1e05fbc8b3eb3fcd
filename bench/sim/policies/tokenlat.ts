import { Board, type Began } from '../../../src/routing/board.ts';
import { Breakers } from '../../../src/routing/breakers.ts';
import { decide } from '../../../src/routing/decide.ts';
import { LEAST_LOADED } from '../../../src/routing/policy.ts';
import { Reporter } from '../../../src/routing/reporter.ts';
import type { Ask, Outcome as Course, Target } from '../../../src/routing/target.ts';
import type { Policy, PolicyOptions, PolicySpec } from '../engine/policy.ts';
import type { Outcome, SimRequest } from '../engine/request.ts';

/** The board counts a try as forgotten after this time: longer than any answer of a simulation takes. */
const LEASE_MS = 3_600_000;
/** As often as the gateway looks for forgotten tries. */
const SWEEP_MS = 1000;

/**
 * TokenLat's own decision, as the gateway makes it: hosts that are all alike by the configuration, whose speed and
 * health it has to find out. It is told what a proxy sees of each try, and how many requests a host takes at once.
 */
export const tokenlat: PolicySpec = { name: 'TokenLat', create: (options) => deciding(options, { knowsSlots: true }) };

/** The same without `limits.concurrency`: it does not know when a host is full. */
export const tokenlatWithoutLimits: PolicySpec = {
  name: 'TokenLat (slots not told)',
  create: (options) => deciding(options, { knowsSlots: false }),
};

function deciding({ hosts, random }: PolicyOptions, { knowsSlots }: { readonly knowsSlots: boolean }): Policy {
  const board = new Board();
  const breakers = new Breakers();
  const reporter = new Reporter({ board, breakers, slow: () => null });
  const targets = hosts.map(({ slots }, host) => targetOf(host, knowsSlots ? slots : null));
  const begun = new Map<string, Began>();
  /** One plan a request: try n goes to its n-th entry, as in the gateway. */
  const plans = new Map<number, readonly Target[]>();
  return {
    pick: (request, tried, now) => {
      const ask = askOf(request);
      if (tried.length === 0) {
        const { order } = decide({ ask, targets, policy: LEAST_LOADED, now }, { board, breakers, random });
        plans.set(
          request.id,
          order.map(({ live }) => live.target),
        );
      }
      const target = plans.get(request.id)?.[tried.length];
      if (target === undefined) return null;
      begun.set(keyOf(request, tried.length + 1), reporter.begin(target, ask, now, now + LEASE_MS));
      return targets.indexOf(target);
    },
    onFirstToken: ({ request, number }, now) => {
      const began = begun.get(keyOf(request, number));
      if (began !== undefined) reporter.firstToken(began, now);
    },
    onEnd: ({ request, number }, { outcome, now, retryAfterMs }) => {
      const key = keyOf(request, number);
      const began = begun.get(key);
      begun.delete(key);
      if (began !== undefined) reporter.end(began, courseOf(request, outcome, retryAfterMs), now);
    },
    ticks: { everyMs: SWEEP_MS, tick: (now) => void board.sweep(now) },
  };
}

const keyOf = ({ id }: SimRequest, number: number): string => `${id}/${number}`;

function targetOf(host: number, capacity: number | null): Target {
  return {
    id: `model@host-${host}`,
    incarnation: `host-${host}`,
    group: 'model',
    domain: `host-${host}`,
    weight: 1,
    capacity,
    price: { prompt: 0, completion: 0, currency: 'EUR' },
    quality: 1,
    prior: { firstTokenMs: null, tokenMs: null },
  };
}

function askOf({ promptTokens, outputTokens }: SimRequest): Ask {
  return { promptTokens, outputTokens, latencyLimitMs: null, kind: 'chat.stream' };
}

function courseOf({ outputTokens }: SimRequest, outcome: Outcome, retryAfterMs: number | null): Course {
  switch (outcome) {
    case 'ok':
      return { kind: 'served', tokens: outputTokens };
    case 'rejected':
      return { kind: 'busy', retryAfterMs };
    case 'error':
    case 'timeout':
    case 'stalled':
      return { kind: 'failed' };
    case 'refused':
      return { kind: 'neutral' };
  }
}
