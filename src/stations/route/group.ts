import type { Candidate } from '../../core/decision.ts';
import type { ScorePolicy } from '../../core/score-policy.ts';

/** A candidate with its share among equals. */
export type Weighted = Candidate & { readonly weight: number };

/** Candidates that stand in for one another; the next group serves when nobody of this one can. */
export interface Group {
  /** Null: in the order of `candidates`. */
  readonly policy: ScorePolicy | null;
  /** Endpoints of one pool, whose deployment had its place already: that is told as the reason. */
  readonly isPool?: boolean;
  readonly candidates: readonly Weighted[];
}

/** Who may not serve a request, whatever the load. */
export interface Barred {
  readonly candidate: Weighted;
  readonly why: 'stage' | 'zone';
}

/** The groups with none but these candidates, told with that reason where there is one; groups without any are left out. */
export function only(groups: readonly Group[], set: ReadonlySet<Candidate>, reason?: 'canary'): readonly Group[] {
  if (set.size === 0) return [];
  return groups
    .map(({ policy, candidates }) => ({
      policy,
      candidates: candidates
        .filter((each) => set.has(each))
        .map((each) => (reason === undefined ? each : { ...each, reason })),
    }))
    .filter(({ candidates }) => candidates.length > 0);
}
