import type { BreakerPolicy } from '../core/breaker-policy.ts';
import { Board } from './board.ts';
import { type BreakerChange, Breakers } from './breakers.ts';
import { decide, type Plan, type Question } from './decide.ts';
import { type FindingChange, Findings } from './findings.ts';
import type { Random } from './order.ts';
import { Reporter, type SlowRule } from './reporter.ts';
import { Tries } from './tries.ts';

export interface EngineOptions {
  /** Read anew each time; null = no breakers. */
  readonly breakerPolicy?: () => BreakerPolicy | null;
  /** Which time of an answer is judged for a kind of work. */
  readonly slow?: (isStream: boolean) => SlowRule | null;
  readonly onBreaker?: (change: BreakerChange) => void;
  readonly onFinding?: (change: FindingChange) => void;
  readonly random?: Random;
}

/** The routing core of one process: what runs where, how it goes, and who should be next. */
export interface Engine {
  readonly board: Board;
  /** What probes and the like say of targets. */
  readonly findings: Findings;
  readonly breakers: Breakers;
  readonly tries: Tries;
  readonly decide: (question: Question) => Plan;
  /** Lets go of what was forgotten; how many tries nobody had ended. `now`: milliseconds of the clock of the tries. */
  readonly sweep: (now: number) => number;
}

export function createEngine(options: EngineOptions = {}): Engine {
  const { breakerPolicy, slow = () => null, onBreaker, onFinding, random = Math.random } = options;
  const findings = new Findings(onFinding === undefined ? {} : { onChange: onFinding });
  const board = new Board({ findings });
  const breakers = new Breakers({
    ...(breakerPolicy === undefined ? {} : { policy: breakerPolicy }),
    ...(onBreaker === undefined ? {} : { onChange: onBreaker }),
  });
  const reporter = new Reporter({ board, breakers, slow });
  return {
    board,
    findings,
    breakers,
    tries: new Tries(reporter),
    decide: (question) => decide(question, { board, breakers, random }),
    sweep(now) {
      const forgotten = board.sweep(now);
      breakers.keep((incarnation) => board.has(incarnation), now);
      return forgotten;
    },
  };
}
