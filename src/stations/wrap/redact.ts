/**
 * Forms of secrets that upstreams like to repeat in error texts: bearer values, provider keys, JWTs. Vetted patterns
 * without nesting: linear on any input, and callers bound the text.
 */
const SECRETS = [
  /\bbearer\s+[\w.~+/=-]{6,}/gi,
  /\b(?:sk|pk|rk|xai|gsk|hf|ghp|AKIA)[-_]?[A-Za-z0-9*_-]{8,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g,
];

const MAX_INPUT = 4096;

/** `text` (bounded) with anything that looks like a credential replaced by `***`. */
export function redact(text: string): string {
  let out = text.slice(0, MAX_INPUT);
  for (const secret of SECRETS) out = out.replace(secret, '***');
  return out;
}
