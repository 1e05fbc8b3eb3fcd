/**
 * Forms of secrets that upstreams like to repeat in error texts: bearer values, provider keys, JWTs. Vetted patterns
 * without nesting: linear on any input, and callers bound the text.
 */
const SECRETS = [
  /\bbearer\s+[\w.~+/=-]{6,}/gi,
  /\b(?:sk|pk|rk|xai|gsk|hf|ghp|AKIA)[-_]?[A-Za-z0-9*_-]{8,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g,
];

/** `text` with anything that looks like a credential replaced by `***`. Callers bound the text. */
export function redact(text: string): string {
  let out = text;
  for (const secret of SECRETS) out = out.replace(secret, '***');
  return out;
}
