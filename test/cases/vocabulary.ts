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

export function ourHeader(name: string): string {
  return HEADERS[name.toLowerCase()] ?? name;
}

/** The claims of a case in this product's words. */
export function translated({ assert }: Report): readonly Claim[] {
  const inWords = (claim: Claim): Claim => {
    if ('any_of' in claim) return { any_of: claim.any_of.map(inWords) };
    if ('all_of' in claim) return { all_of: claim.all_of.map(inWords) };
    // eslint-disable-next-line unicorn/no-thenable -- the word of the reports; nobody awaits a claim
    if ('if' in claim) return { if: 'policy' in claim.if ? claim.if : inWords(claim.if), then: inWords(claim.then) };
    const on = Object.entries(HEADERS).reduce((path, [from, to]) => path.replace(from, to), claim.on);
    return { ...claim, on };
  };
  return assert.map(inWords);
}
