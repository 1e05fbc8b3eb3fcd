import type { Results } from './results.ts';

/** What was measured now, and of what was measured before, all that was not measured again. */
export function merged(before: Results, now: Results): Results {
  const ratios = { ...before.ratios };
  for (const [group, figures] of Object.entries(now.ratios)) ratios[group] = { ...ratios[group], ...figures };
  const fresh = new Map(now.workloads.map((workload) => [workload.name, workload]));
  const known = new Set(before.workloads.map(({ name }) => name));
  return {
    ...now,
    ratios,
    goals: { ...before.goals, ...now.goals },
    spread: { ...before.spread, ...now.spread },
    versions: { ...before.versions, ...now.versions },
    peers: { ...before.peers, ...now.peers },
    workloads: [
      ...before.workloads.map((workload) => fresh.get(workload.name) ?? workload),
      ...now.workloads.filter(({ name }) => !known.has(name)),
    ],
    soak: now.soak.length > 0 ? now.soak : before.soak,
  };
}
