import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/ports/clock.ts';
import type { KeptAnswer } from './job-content.ts';

/** Refusals that say that a model is full, rather than that somebody has used up what is theirs. */
const FULL: ReadonlySet<string> = new Set(['deployment_saturated', 'pool_saturated', 'zone_saturated']);
/** All jobs that find a model full look again at the same moments, so that the oldest of them is first. */
const LOOK_MS = 500;
/** For how long nobody behind one that found no room needs to ask. */
const KNOWN_MS = 250;
/** Of those behind, so many look again at each of the next moments. */
const STEP = 20;

/** Those that ask a model that was full lately do so one after the other, each when the one before would have heard that it still is. */
const APART_MS = 50;
/** Full lately. */
const LATELY_MS = 10_000;

interface Full {
  /** When somebody was refused last. */
  at: number;
  askedAt: number;
  /** Jobs that were put back since. */
  behind: number;
  /** The last of those that want to ask. */
  line: Promise<unknown>;
}

/** Which models had no room a moment ago: one job asks, those behind it wait without asking. */
export class FullModels {
  readonly #clock: Pick<Clock, 'time'>;
  readonly #full = new Map<string, Full>();

  constructor({ clock }: { readonly clock: Pick<Clock, 'time'> }) {
    this.#clock = clock;
  }

  /** A job's turn to ask for it: null = now; else how long it waits instead, milliseconds. In the order of the calls. */
  async turn(model: string): Promise<number | null> {
    const known = this.#full.get(model);
    if (known === undefined) return null;
    if (this.#clock.time() - known.at > LATELY_MS) {
      this.#full.delete(model);
      return null;
    }
    const turn = known.line.then(() => this.#next(known));
    known.line = turn;
    return await turn;
  }

  /** Was it for want of room that a job for it was refused? Then how long that job waits, milliseconds; else null. */
  refused(model: string, { body }: Pick<KeptAnswer, 'body'>): number | null {
    if (!FULL.has(codeOf(body))) return null;
    const at = this.#clock.time();
    const known = this.#full.get(model);
    if (known === undefined) this.#full.set(model, { at, askedAt: at, behind: 0, line: Promise.resolve() });
    else Object.assign(known, { at, behind: 0 });
    return this.#untilLook();
  }

  async #next(known: Full): Promise<number | null> {
    const apartMs = known.askedAt + APART_MS - this.#clock.time();
    if (apartMs > 0 && !this.#isFull(known)) await sleep(Math.min(APART_MS, apartMs), undefined, { ref: false });
    if (this.#isFull(known)) {
      known.behind += 1;
      return this.#untilLook() + Math.floor(known.behind / STEP) * LOOK_MS;
    }
    known.askedAt = this.#clock.time();
    return null;
  }

  #isFull({ at }: Full): boolean {
    return this.#clock.time() < at + KNOWN_MS;
  }

  #untilLook(): number {
    return LOOK_MS - (this.#clock.time() % LOOK_MS);
  }
}

function codeOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { readonly error?: { readonly code?: unknown } };
    return typeof error?.code === 'string' ? error.code : '';
  } catch {
    return '';
  }
}
