import { type Arm, type ArmFigures, ARMS, type RolloutFigures } from '../../core/rollout.ts';
import { addSparse, bucketOf, BUCKETS, sparseOf } from '../../lib/histogram/log-histogram.ts';

interface Counted {
  requests: number;
  errors: number;
  readonly times: Float64Array;
}

/** What one process has seen of both configurations. */
export class ArmCounts {
  readonly #arms: Readonly<Record<Arm, Counted>> = { old: none(), new: none() };

  /** @param ms - The time that counts; null for an error. */
  add(arm: Arm, ms: number | null): void {
    const counted = this.#arms[arm];
    counted.requests += 1;
    if (ms === null) counted.errors += 1;
    else counted.times[bucketOf(ms)] = (counted.times[bucketOf(ms)] ?? 0) + 1;
  }

  figures(): RolloutFigures {
    return { old: shown(this.#arms.old), new: shown(this.#arms.new) };
  }
}

function none(): Counted {
  return { requests: 0, errors: 0, times: new Float64Array(BUCKETS) };
}

function shown({ requests, errors, times }: Counted): ArmFigures {
  return { requests, errors, times: sparseOf(times) };
}

/** All of them together. */
export function mergeFigures(all: readonly RolloutFigures[]): RolloutFigures {
  return combine(all.map((figures) => ({ figures, sign: 1 })));
}

/** What came since; `before` is a part of `now`. */
export function figuresSince(now: RolloutFigures, before: RolloutFigures): RolloutFigures {
  return combine([
    { figures: now, sign: 1 },
    { figures: before, sign: -1 },
  ]);
}

function combine(parts: readonly { readonly figures: RolloutFigures; readonly sign: 1 | -1 }[]): RolloutFigures {
  const sum = { old: none(), new: none() };
  for (const { figures, sign } of parts)
    for (const arm of ARMS) {
      const { requests, errors, times } = figures[arm];
      sum[arm].requests += sign * requests;
      sum[arm].errors += sign * errors;
      addSparse(
        sum[arm].times,
        times.map((value, at) => (at % 2 === 0 ? value : sign * value)),
      );
    }
  return { old: shown(sum.old), new: shown(sum.new) };
}
