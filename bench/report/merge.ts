import { FIGURES } from './figures.ts';
import type { Results, Row, WorkloadResult } from './results.ts';
import { ratiosOf } from './spread.ts';

/** The names of the workloads that there are, in the order of the page. */
type Names = readonly string[];

/**
 * What was measured now, and of what was measured before, all that was not measured again, in the order of the page. Figures and
 * workloads that there are no longer are left out.
 */
export function merged(before: Results, now: Results, names: Names): Results {
  const spread = known({ ...before.spread, ...now.spread });
  return {
    ...now,
    ratios: ratiosOf(spread),
    goals: known({ ...before.goals, ...now.goals }),
    spread,
    versions: { ...before.versions, ...now.versions },
    peers: { ...before.peers, ...now.peers },
    workloads: mergedWorkloads(before.workloads, now.workloads, names),
    soak: now.soak.length > 0 ? now.soak : before.soak,
  };
}

/** Those of figures that there are, in their order. */
function known<T>(of: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(
    FIGURES.flatMap(({ name }) => {
      const value = of[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function mergedWorkloads(
  before: readonly WorkloadResult[],
  now: readonly WorkloadResult[],
  names: Names,
): readonly WorkloadResult[] {
  return names.flatMap((name) => {
    const old = before.find((workload) => workload.name === name);
    const fresh = now.find((workload) => workload.name === name);
    if (fresh === undefined) return old ?? [];
    return { ...fresh, rows: mergedRows(old?.rows ?? [], fresh.rows) };
  });
}

/** Only some setups may have been measured again. */
function mergedRows(before: readonly Row[], now: readonly Row[]): readonly Row[] {
  const fresh = new Map(now.map((row) => [row.setup, row]));
  const old = new Set(before.map(({ setup }) => setup));
  return [...before.map((row) => fresh.get(row.setup) ?? row), ...now.filter(({ setup }) => !old.has(setup))];
}
