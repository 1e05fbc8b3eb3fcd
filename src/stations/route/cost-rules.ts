import type { Candidate, Decision } from '../../core/decision.ts';
import type { CostTier } from '../../core/directory.ts';
import { GatewayError } from '../../core/error.ts';
import { priceAt } from '../../core/money.ts';
import type { Protection, ProtectionView } from '../../core/ports/budget-state.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import type { Principal } from '../../core/principal.ts';
import type { Route } from '../../core/snapshot.ts';
import type { RouteContext } from './match-inputs.ts';

const RANK: Readonly<Record<CostTier, number>> = { economy: 0, standard: 1, core: 2 };
/** Names in a reason: enough to see what happened, few enough to be read. */
const SHOWN = 4;

type Payer = Pick<Principal, 'tenant' | 'businessLine'>;

function names(candidates: readonly Candidate[]): string {
  const ids = candidates.slice(0, SHOWN).map(({ deployment }) => deployment.id);
  return `${ids.join(', ')}${candidates.length > SHOWN ? ` and ${candidates.length - SHOWN} more` : ''}`;
}

/**
 * Leaves out what is dearer than the business line's cost tier allows. Throws `model_not_allowed` when that is everything.
 * A line that the directory does not know may use all.
 */
export function withinTier(
  ranked: readonly Candidate[],
  { tenant, businessLine }: Payer,
  directory: DirectoryView,
): { readonly candidates: readonly Candidate[]; readonly note: string | null } {
  const tier = directory.line(tenant, businessLine)?.costTier ?? 'core';
  const fits = ({ deployment }: Candidate): boolean => RANK[deployment.costTier] <= RANK[tier];
  const candidates = ranked.filter(fits);
  if (candidates.length === ranked.length) return { candidates, note: null };
  const rule = `business line ${businessLine} is ${tier}`;
  if (candidates.length === 0) {
    throw new GatewayError(
      'model_not_allowed',
      `Your ${rule}: no model of that cost tier or a cheaper one may serve this request. Ask for a cheaper model.`,
      { param: 'model' },
    );
  }
  return { candidates, note: `${rule}: left out ${names(ranked.filter((each) => !fits(each)))}` };
}

/** What a million tokens in and a million out cost there at `now`, in micro-units. */
function priceOf({ deployment }: Candidate, now: number): number {
  const { promptPerMtok, completionPerMtok } = priceAt(deployment.price, now);
  return promptPerMtok + completionPerMtok;
}

type Candidates = Decision['candidates'];

/** Can their prices be compared at all? */
function sameCurrency(a: Candidate, b: Candidate): boolean {
  return a.deployment.price.currency === b.deployment.price.currency;
}

/** Those cheaper than the first, cheapest first. */
function cheaperThanFirst([first, ...rest]: Candidates, now: number): readonly Candidate[] {
  const limit = priceOf(first, now);
  return rest
    .filter((each) => sameCurrency(each, first) && priceOf(each, now) < limit)
    .toSorted((a, b) => priceOf(a, now) - priceOf(b, now));
}

/** The first, and those that cost no more: where nothing cheaper is at hand, a failure must not make it dearer. */
function noDearer([first, ...rest]: Candidates, now: number): Candidates {
  const limit = priceOf(first, now);
  return [first, ...rest.filter((each) => sameCurrency(each, first) && priceOf(each, now) <= limit)];
}

function refusal({ businessLine, until }: Protection, tenant: string, now: number): GatewayError {
  const whose = businessLine === null ? `tenant ${tenant}` : `business line ${businessLine}`;
  const end = new Date(until).toISOString();
  return new GatewayError('budget_exceeded', `The budget of ${whose} is used up. A new one begins at ${end}.`, {
    retryAfterMs: Math.max(1000, until - now),
  });
}

/** Who may serve, and what is to be said of it. */
export interface Saving {
  readonly candidates: Candidates;
  readonly fallbackReason: Decision['fallbackReason'];
  readonly note: string | null;
}

/**
 * What a used-up budget makes of the candidates, by the route's `protect`: `cheaper` keeps only those cheaper than the one
 * that would have served, `deny` throws `budget_exceeded`, `none` changes nothing.
 * @param now - Unix milliseconds.
 */
export function underProtection({
  ctx: { principal },
  route,
  usual,
  protection,
  now,
}: {
  readonly ctx: Pick<RouteContext, 'principal'>;
  readonly route: Route;
  readonly usual: Candidates;
  readonly protection: ProtectionView;
  readonly now: number;
}): Saving {
  const found = protection.of(principal.tenant, principal.businessLine);
  if (found === null) return { candidates: usual, fallbackReason: null, note: null };
  const why = `${found.budget} is used up for ${found.period}`;
  switch (route.protect) {
    case 'none':
      return { candidates: usual, fallbackReason: null, note: `${why}, route goes on` };
    case 'deny':
      throw refusal(found, principal.tenant, now);
    case 'cheaper': {
      const [first, ...rest] = cheaperThanFirst(usual, now);
      const normal = usual[0].deployment.id;
      if (first === undefined) {
        return {
          candidates: noDearer(usual, now),
          fallbackReason: null,
          note: `${why}, nothing is cheaper than ${normal}`,
        };
      }
      const note = `${why}: only candidates cheaper than ${normal}`;
      return { candidates: [first, ...rest], fallbackReason: 'budget_exhausted', note };
    }
    default:
      return route.protect satisfies never;
  }
}
