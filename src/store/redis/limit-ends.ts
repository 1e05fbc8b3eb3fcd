import type { LimitLine } from '../../core/limit.ts';
import { assertLines } from '../whole-number.ts';
import type { Keys } from './keys.ts';
import { scriptEnd, type ScriptEnd } from './script-command.ts';
import type { WindowTerms } from './window-terms.ts';

interface Known {
  readonly tenant: string;
  readonly end: ScriptEnd;
  /** Lines of a zone's periods, one a unit and zone, and the term that each had. */
  readonly zoned: readonly (readonly [line: LimitLine, term: string])[];
}

/**
 * What lists of limits are in the scripts that ask for them: a counter's key, then window, unit and limit of each line. Made once
 * for a list that comes again, and anew when a period of a zone is over. Throws `RangeError` for lines that cannot be kept.
 */
export function createLimitEnds({
  keys,
  windows,
}: {
  readonly keys: Keys;
  readonly windows: WindowTerms;
}): (tenant: string, lines: readonly LimitLine[]) => ScriptEnd {
  const known = new WeakMap<readonly LimitLine[], Known>();

  function make(tenant: string, lines: readonly LimitLine[]): Known {
    assertLines(lines);
    const counters = lines.map((line) => keys.counter(tenant, line));
    const words = lines.flatMap((line, at) => [windows.term(line), letterOf(line, counters, at), line.limit]);
    const zoned = new Map<string, readonly [LimitLine, string]>();
    for (const line of lines) {
      const { window } = line;
      if (window.kind !== 'calendar' || (window.zone ?? 'UTC') === 'UTC') continue;
      zoned.set(`${window.unit} ${window.zone}`, [line, windows.term(line)]);
    }
    return { tenant, end: scriptEnd(counters, words), zoned: [...zoned.values()] };
  }

  return (tenant, lines) => {
    let found = known.get(lines);
    if (
      found === undefined ||
      found.tenant !== tenant ||
      found.zoned.some(([line, term]) => windows.term(line) !== term)
    ) {
      found = make(tenant, lines);
      known.set(lines, found);
    }
    return found.end;
  };
}

/** The unit as the scripts know it: upper case where an earlier line has the same counter. */
function letterOf({ unit }: LimitLine, counters: readonly string[], at: number): string {
  const letter = unit.charAt(0);
  return counters.indexOf(counters[at] ?? '') < at ? letter.toUpperCase() : letter;
}
