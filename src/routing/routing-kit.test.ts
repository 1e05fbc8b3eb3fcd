import { Board } from './board.ts';
import { Breakers } from './breakers.ts';
import { decide, type Plan, type Question } from './decide.ts';
import { LEAST_LOADED, type ScorePolicy } from '../core/score-policy.ts';
import { Reporter } from './reporter.ts';
import type { Ask, Target } from './target.ts';

/** A target with nothing special about it. */
export function target(id: string, changes: Partial<Target> = {}): Target {
  return {
    id,
    incarnation: id,
    group: 'group',
    domain: id,
    weight: 1,
    capacity: 32,
    warmRoom: null,
    shelf: null,
    price: { prompt: 0, completion: 0, currency: 'USD' },
    quality: 0.5,
    prior: { firstTokenMs: 200, tokenMs: 20, totalMs: null },
    ...changes,
  };
}

export const ASK: Ask = { promptTokens: 100, outputTokens: 100, latencyLimitMs: null, kind: 'chat', stream: true };

/** Small numbers that repeat: xorshift32. */
export function randomOf(seed: number): () => number {
  let state = Math.imul(seed | 0, 2_654_435_761) ^ 0x5bd1e995 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export const SCORED: ScorePolicy = {
  ...LEAST_LOADED,
  weights: { cost: 1, latency: 1, quality: 1 },
  load: 0.2,
  spread: { kind: 'near', near: 0.02 },
};

type Changes = Partial<Omit<Question, 'ask' | 'targets' | 'now'>> & { readonly ask?: Partial<Ask> };

/** A board, its breakers and a reporter, with shortcuts. */
export function rig({ seed = 1, slowMs = null as number | null } = {}) {
  const board = new Board();
  const breakers = new Breakers();
  const random = randomOf(seed);
  const reporter = new Reporter({
    board,
    breakers,
    slow: () => (slowMs === null ? null : { signal: 'first_token', limitMs: slowMs }),
  });
  return {
    board,
    breakers,
    random,
    reporter,
    decide(targets: readonly Target[], now: number, changes: Changes = {}): Plan {
      const question: Question = {
        targets,
        rank: 'score',
        policy: LEAST_LOADED,
        tries: 3,
        lastResort: 'late',
        now,
        ...changes,
        ask: { ...ASK, ...changes.ask },
      };
      return decide(question, { board, breakers, random });
    },
    begin: (to: Target, now: number, expiresAt = now + 60_000, warm: readonly number[] = []) =>
      reporter.begin(to, { ...ASK, warm: { keys: warm, tokensAKey: 0 } }, now, expiresAt),
    /** One whole answer. */
    serve(to: Target, now: number, firstMs = 200, tokenMs = 20, tokens = 100): void {
      const began = reporter.begin(to, ASK, now, now + 600_000);
      reporter.firstToken(began, now + firstMs);
      reporter.end(began, { kind: 'served', tokens }, now + firstMs + tokenMs * (tokens - 1));
    },
    fail(to: Target, now: number): void {
      reporter.end(reporter.begin(to, ASK, now, now + 1000), { kind: 'failed' }, now + 1);
    },
  };
}

/** Ids in order. */
export const ids = ({ order }: Plan): string => order.map(({ live }) => live.target.id).join(' ');
