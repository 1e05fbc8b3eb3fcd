import type { RolloutRecord } from '../../core/directory.ts';
import type { RolloutFigureStore } from '../../core/ports/rollout.ts';
import type { RolloutFigures } from '../../core/rollout.ts';
import { endRollout, type EndRolloutOptions } from './end-rollout.ts';
import { figuresSince, mergeFigures } from './figures.ts';
import { judge, type Verdict } from './judge.ts';

export interface JudgeRolloutOptions extends EndRolloutOptions {
  readonly figures: Pick<RolloutFigureStore, 'read'>;
}

/** What a look came to. */
export type Look = 'goes_on' | 'promoted' | 'rolled_back' | 'elsewhere';

/** Also looked at alone: so long ago things were well that went wrong since, milliseconds. */
const WINDOW_MS = 30_000;
/** So many looks in a row say that it is worse. */
const LOOKS = 2;

/** Judges one roll-out, look after look. Every replica does, by the figures of all; whoever is first to say so ends it. */
export class RolloutJudge {
  readonly #options: JudgeRolloutOptions;
  #of = '';
  #seen: { readonly at: number; readonly figures: RolloutFigures }[] = [];
  #worse = 0;

  constructor(options: JudgeRolloutOptions) {
    this.#options = options;
  }

  /** Rejects with `StoreUnavailable`: nothing is judged then. */
  async look(record: RolloutRecord): Promise<Look> {
    const { figures: store, clock } = this.#options;
    if (record.rollout !== this.#of) this.#begin(record.rollout);
    const all = mergeFigures(await store.read(record.rollout));
    const now = clock.time();
    this.#seen.push({ at: now, figures: all });
    // The last one from before the window stays, to hold against.
    while ((this.#seen[1]?.at ?? now) <= now - WINDOW_MS) this.#seen.shift();
    const recent = figuresSince(all, this.#seen[0]?.figures ?? all);
    const verdict = judge(all, record.criteria);
    const bad = [verdict, judge(recent, record.criteria)].find(({ kind }) => kind === 'worse');
    this.#worse = bad === undefined ? 0 : this.#worse + 1;
    if (bad !== undefined) return this.#worse < LOOKS ? 'goes_on' : await this.#end(record, 'rolled_back', bad.words);
    return await this.#atItsEnd(record, verdict, now);
  }

  async #atItsEnd(record: RolloutRecord, { kind, words }: Verdict, now: number): Promise<Look> {
    if (now < record.endAt) return 'goes_on';
    if (kind === 'fine') return await this.#end(record, 'promoted', words);
    // As long again, for what is not clear yet.
    if (now < 2 * record.endAt - record.startAt) return 'goes_on';
    return await this.#end(record, 'rolled_back', `not shown to be as good: ${words}`);
  }

  async #end(record: RolloutRecord, status: 'promoted' | 'rolled_back', reason: string): Promise<Look> {
    return (await endRollout(record, status, reason, this.#options)) ? status : 'elsewhere';
  }

  #begin(rollout: string): void {
    this.#of = rollout;
    this.#seen = [];
    this.#worse = 0;
  }
}
