import { LEAST_LOADED } from '../../../src/core/score-policy.ts';
import type { Warm } from '../../../src/core/warm.ts';
import type { Warmth } from '../../../src/routing/warm-keys.ts';
import type { Began } from '../../../src/routing/board.ts';
import { createEngine } from '../../../src/routing/engine.ts';
import type { Work } from '../../../src/routing/lease.ts';
import type { LiveTarget } from '../../../src/routing/live-target.ts';
import type { Ask, Outcome as Course, Target } from '../../../src/routing/target.ts';
import type { HostFacts, Policy, PolicyOptions, PolicySpec } from '../engine/policy.ts';
import type { Outcome, SimRequest } from '../engine/request.ts';

/** A try counts as forgotten after this time: longer than any answer of a simulation takes. */
const LEASE_MS = 3_600_000;
const SWEEP_MS = 1000;
const TRIES = 3;
const TOKENS_A_BLOCK = 512;
/** What clients allow an answer to have; nobody says how many tokens it will have. */
const MOST_OUTPUT = 1024;

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
  const engine = createEngine({ random });
  const targets = hosts.map((facts, host) => targetOf(host, facts, knowsSlots));
  const loads = new Loads();
  const begun = new Map<string, Began>();
  /** One plan a request: try n goes to its n-th entry, as in the gateway. */
  const plans = new Map<number, readonly Target[]>();
  const planOf = (request: SimRequest, now: number): readonly Target[] => {
    const { order } = engine.decide({
      ask: askOf(request),
      targets,
      rank: 'score',
      policy: LEAST_LOADED,
      warmth: warmthOf(request),
      tries: TRIES,
      lastResort: 'anybody',
      now,
    });
    return order.map(({ target }) => target);
  };
  return {
    pick: (request, tried, now) => {
      if (tried.length === 0) plans.set(request.id, planOf(request, now));
      const target = plans.get(request.id)?.[tried.length];
      if (target === undefined) return null;
      const key = keyOf(request, tried.length + 1);
      const live = engine.board.of(target);
      const host = targets.indexOf(target);
      const isLoading = loads.begin(request, host, live);
      begun.set(key, engine.tries.begin(key, target, workOf(request, isLoading), now, now + LEASE_MS));
      return host;
    },
    onFirstToken: ({ request, number, host }, now) => {
      loads.over(request, host);
      const began = begun.get(keyOf(request, number));
      if (began !== undefined) engine.tries.firstToken(began, now);
    },
    onEnd: ({ request, number, host }, { outcome, now, retryAfterMs }) => {
      loads.over(request, host);
      const key = keyOf(request, number);
      const began = begun.get(key);
      begun.delete(key);
      if (began !== undefined) engine.tries.end(began, courseOf(request, outcome, retryAfterMs), now);
      if (outcome === 'ok' || number >= TRIES) plans.delete(request.id);
    },
    ticks: { everyMs: SWEEP_MS, tick: (now) => void engine.sweep(now) },
  };
}

const keyOf = ({ id }: SimRequest, number: number): string => `${id}/${number}`;

/** The model where hosts load models, else the prompt's blocks. */
function warmOf({ model, blocks }: SimRequest): Warm {
  return model === null ? { keys: blocks, tokensAKey: TOKENS_A_BLOCK } : { keys: [model], tokensAKey: 0 };
}

function warmthOf(request: SimRequest): Warmth {
  const warm = warmOf(request);
  return { warm: () => warm, home: () => null };
}

/** A host that loads a model first does another kind of work: only others that load are a measure of how long that takes. */
function workOf(request: SimRequest, isLoading: boolean): Work {
  const ask = askOf(request);
  return { ...ask, warm: warmOf(request), kind: isLoading ? `${ask.kind}.cold` : ask.kind };
}

/** Models that hosts load now, as far as a proxy can tell: from the first try that found it cold to its first token. */
class Loads {
  readonly #underWay = new Set<string>();

  /** Has this try to wait for a load? */
  begin({ model }: SimRequest, host: number, live: LiveTarget): boolean {
    if (model === null) return false;
    const load = `${host}/${model}`;
    if (live.warm.match([model]) === 0) this.#underWay.add(load);
    return this.#underWay.has(load);
  }

  over({ model }: SimRequest, host: number): void {
    this.#underWay.delete(`${host}/${model}`);
  }
}

function targetOf(host: number, { slots, modelRoom, cacheBlocks }: HostFacts, knowsSlots: boolean): Target {
  return {
    id: `model@host-${host}`,
    incarnation: `host-${host}`,
    group: 'model',
    domain: `host-${host}`,
    weight: 1,
    capacity: knowsSlots ? slots : null,
    // What loads models remembers few; whole caches are as large as they are.
    warmRoom: modelRoom > 0 ? modelRoom : cacheBlocks > 0 ? cacheBlocks : null,
    shelf: null,
    price: { prompt: 0, completion: 0, currency: 'EUR' },
    quality: 1,
    prior: { firstTokenMs: null, tokenMs: null, totalMs: null },
  };
}

function askOf({ promptTokens }: SimRequest): Ask {
  return { promptTokens, outputTokens: MOST_OUTPUT, latencyLimitMs: null, kind: 'chat.stream', stream: true };
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
