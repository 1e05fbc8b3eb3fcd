import type { ConfigDocument } from '../schema/document.ts';
import { isLinkLocal, isLoopback } from '../../lib/address/address.ts';
import type { Path } from '../problem.ts';
import type { CheckContext } from './finding.ts';

type Issuer = ConfigDocument['auth']['issuers'][number];

const MIN_SECRET_BYTES = 32;

/** Rules about who may ask. */
export function checkAuth(context: CheckContext): void {
  const { document, problem } = context;
  const { issuers, api_keys: keys } = document.auth;
  if (issuers.length === 0 && keys.length === 0)
    problem(['auth'], 'needs at least one issuer or API key: nobody could use the gateway');
  const seen = new Set<string>();
  issuers.forEach((issuer, index) => {
    const path = ['auth', 'issuers', index];
    if (seen.has(issuer.issuer)) problem([...path, 'issuer'], `"${issuer.issuer}" is named twice`);
    seen.add(issuer.issuer);
    checkIssuer(context, issuer, path);
  });
  checkApiKeys(context);
}

function checkIssuer(context: CheckContext, issuer: Issuer, path: Path): void {
  const { problem } = context;
  const symmetric = issuer.algorithms.filter((algorithm) => algorithm.startsWith('HS'));
  const sources = (['jwks', 'secret', 'exec'] as const).filter((key) => issuer[key] !== undefined);
  if (symmetric.length > 0 && symmetric.length < issuer.algorithms.length) {
    problem(
      [...path, 'algorithms'],
      'mixes HS algorithms with asymmetric ones: a public key could then pass for the secret; make two issuers',
    );
    return;
  }
  if (symmetric.length > 0) {
    if (!sources.includes('secret') && !sources.includes('exec'))
      problem(path, `needs "secret" or "exec" for ${symmetric.join(', ')}`);
    if (sources.includes('jwks'))
      problem([...path, 'jwks'], `cannot serve ${symmetric.join(', ')}: give "secret" or "exec"`);
    if (sources.includes('secret') && sources.includes('exec'))
      problem([...path, 'exec'], 'cannot stand beside "secret": keep one');
  } else {
    if (!sources.includes('jwks')) problem(path, `needs "jwks" for ${issuer.algorithms.join(', ')}`);
    for (const key of sources)
      if (key !== 'jwks') problem([...path, key], `cannot serve ${issuer.algorithms.join(', ')}: give "jwks"`);
    if (issuer.audience.length === 0)
      problem(path, 'needs "audience": without it a token made for another service would be accepted');
  }
  const least = Math.max(MIN_SECRET_BYTES, ...symmetric.map((algorithm) => Number(algorithm.slice(2)) / 8));
  if (issuer.secret !== undefined && Buffer.byteLength(issuer.secret) < least)
    problem(
      [...path, 'secret'],
      `must have at least ${least} bytes for ${symmetric.join(', ')}, not ${Buffer.byteLength(issuer.secret)}`,
    );
  if (issuer.jwks !== undefined) checkJwks(context, issuer.jwks, [...path, 'jwks']);
}

function checkJwks(context: CheckContext, jwks: NonNullable<Issuer['jwks']>, path: Path): void {
  const { problem, warn, files } = context;
  if ((jwks.url === undefined) === (jwks.file === undefined)) {
    problem(path, 'needs one of "url" and "file"');
    return;
  }
  if (jwks.file !== undefined) {
    const read = files.text(jwks.file);
    if ('error' in read) problem([...path, 'file'], read.error);
    else if (!isKeySet(read.text))
      problem([...path, 'file'], `${files.resolve(jwks.file)} is not a JSON Web Key Set: it needs a list "keys"`);
    return;
  }
  const url = URL.canParse(jwks.url ?? '') ? new URL(jwks.url ?? '') : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    problem([...path, 'url'], 'must be an https:// address');
  else if (url.username !== '' || url.password !== '') problem([...path, 'url'], 'must not hold a user or password');
  else if (isLinkLocal(url.hostname.replaceAll(/[[\]]/g, '')))
    problem([...path, 'url'], 'must not point to a link-local address or a metadata service');
  else if (url.protocol === 'http:' && !isLoopback(url.hostname.replaceAll(/[[\]]/g, '')))
    warn([...path, 'url'], 'fetches keys without TLS: whoever sits in between decides who may ask');
}

function isKeySet(text: string): boolean {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && Array.isArray((parsed as { keys?: unknown }).keys);
  } catch {
    return false;
  }
}

function checkApiKeys({ document, problem }: CheckContext): void {
  const names = new Set<string>();
  document.auth.api_keys.forEach((key, index) => {
    const path = ['auth', 'api_keys', index];
    if (names.has(key.name)) problem([...path, 'name'], `"${key.name}" is named twice`);
    names.add(key.name);
    if ((key.sha256 === undefined) === (key.key === undefined)) problem(path, 'needs one of "sha256" and "key"');
  });
}
