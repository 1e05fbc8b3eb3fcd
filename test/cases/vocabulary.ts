import type { Claim, Report } from './report.ts';

/** The reports' own words for headers, and what they are called here. */
const HEADERS: Readonly<Record<string, string>> = {
  // Says which model served; the reports leave its name open.
  '<served-model header>': 'x-tokenlat-model',
  // Stand for internal headers that a client might preset: a routing name that we know from answers …
  'x-gw-model': 'x-tokenlat-model',
  'x-gw-backend': 'x-tokenlat-backend',
  // … and the one header that Envoy makes for each request and routes by.
  'x-gw-user': 'x-tokenlat-affinity',
};

/** Expected values that say the same thing in other words here, by case and path. */
const VALUES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  // `max_parallel` is a bound of a deployment here, not of a client: a full deployment is 503 `deployment_saturated`, never 429.
  'RL-02': { 'step[1].client.status': 503 },
};

export function ourHeader(name: string): string {
  return HEADERS[name.toLowerCase()] ?? name;
}

/** The claims of a case in this product's words. */
export function translated({ id, assert }: Report): readonly Claim[] {
  const values = VALUES[id] ?? {};
  const inWords = (claim: Claim): Claim => {
    if ('any_of' in claim) return { any_of: claim.any_of.map(inWords) };
    if ('all_of' in claim) return { all_of: claim.all_of.map(inWords) };
    // eslint-disable-next-line unicorn/no-thenable -- the word of the reports; nobody awaits a claim
    if ('if' in claim) return { if: 'policy' in claim.if ? claim.if : inWords(claim.if), then: inWords(claim.then) };
    const on = Object.entries(HEADERS).reduce((path, [from, to]) => path.replace(from, to), claim.on);
    return { ...claim, on, ...(Object.hasOwn(values, claim.on) ? { value: values[claim.on] } : {}) };
  };
  return assert.map(inWords);
}
