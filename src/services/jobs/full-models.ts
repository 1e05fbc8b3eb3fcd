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

/** Which models had no room a moment ago: one job asks, those behind it wait without asking. */
export class FullModels {
  readonly #clock: Pick<Clock, 'time'>;
  readonly #full = new Map<string, { readonly until: number; behind: number }>();

  constructor({ clock }: { readonly clock: Pick<Clock, 'time'> }) {
    this.#clock = clock;
  }

  /** How long a job for it waits, milliseconds; null = it may ask. */
  behind(model: string): number | null {
    const known = this.#full.get(model);
    if (known === undefined) return null;
    if (known.until <= this.#clock.time()) {
      this.#full.delete(model);
      return null;
    }
    known.behind += 1;
    return this.#untilLook() + Math.floor(known.behind / STEP) * LOOK_MS;
  }

  /** A job for it was answered: the room that it had is free. */
  served(model: string): void {
    this.#full.delete(model);
  }

  /** Was it for want of room that a job for it was refused? Then how long that job waits, milliseconds; else null. */
  refused(model: string, { body }: Pick<KeptAnswer, 'body'>): number | null {
    if (!FULL.has(codeOf(body))) return null;
    this.#full.set(model, { until: this.#clock.time() + KNOWN_MS, behind: 0 });
    return this.#untilLook();
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
