import type { LimitLine } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';

/** Windows as the scripts read them. */
export interface WindowTerms {
  /** A number of seconds, `day`, `month`, `c` (concurrent), or `z` and three periods of a zone. */
  readonly term: (line: LimitLine) => string;
  /** True when the reply says that the periods were not those of Redis's time: its clock is followed from now on. */
  readonly learn: (reply: string) => boolean;
}

type ZonedUnit = 'day' | 'month';

/**
 * Scripts know no zones: they get the period before, the one of our time and the one after, and take the one that Redis's time
 * lies in. So a clock of ours that is off by less than a period changes nothing.
 */
export function createWindowTerms({ clock }: { readonly clock: Clock }): WindowTerms {
  const known = new Map<string, { readonly start: number; readonly end: number; readonly text: string }>();
  let ahead = 0;

  function zoned(unit: ZonedUnit, zone: string): string {
    const now = clock.time() + ahead;
    const name = `${unit} ${zone}`;
    const last = known.get(name);
    if (last !== undefined && last.start <= now && now < last.end) return last.text;
    const period = periodAt(now, unit, zone);
    const before = periodAt(period.start - 1, unit, zone);
    const next = periodAt(period.end, unit, zone);
    const parts = [before, period, next].flatMap(({ id, start }) => [id.replaceAll('-', ''), start / 1000]);
    const text = `z${[...parts, next.end / 1000].join(',')}`;
    if (known.size >= 500) known.clear();
    known.set(name, { start: period.start, end: period.end, text });
    return text;
  }

  return {
    term: ({ window }) => {
      if (window.kind === 'sliding') return String(window.seconds);
      if (window.kind === 'concurrent') return 'c';
      const { unit, zone = 'UTC' } = window;
      return zone === 'UTC' ? unit : zoned(unit, zone);
    },
    learn: (reply) => {
      if (!reply.startsWith('r,')) return false;
      ahead = Number(reply.slice(2)) - clock.time();
      return true;
    },
  };
}
