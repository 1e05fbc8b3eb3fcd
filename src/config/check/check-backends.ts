import { isIpAddress, isLinkLocal } from '../../lib/address/address.ts';
import { endpointOf } from '../endpoint-url.ts';
import type { Path } from '../problem.ts';
import { didYouMean } from '../suggest.ts';
import { checkHealth } from './check-health.ts';
import { checkLimits } from './check-limits.ts';
import type { CheckContext } from './finding.ts';

/** Names of clusters that the rendered Envoy configuration makes itself. */
const RESERVED = /^tokenlat-/;

/** Headers that the gateway or HTTP itself decides about. */
const UNFIT_HEADERS =
  /^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|:.*|x-tokenlat-.*|x-envoy-.*)$/;

/** Rules about backends and their endpoints. */
export function checkBackends(context: CheckContext): void {
  const { document, dialects, problem } = context;
  const names = new Set<string>();
  document.backends.forEach((backend, index) => {
    const path = ['backends', index];
    if (names.has(backend.name)) problem([...path, 'name'], `"${backend.name}" is named twice`);
    names.add(backend.name);
    if (RESERVED.test(backend.name))
      problem([...path, 'name'], 'must not begin with "tokenlat-": such clusters are our own');
    if (!dialects.includes(backend.dialect))
      problem(
        [...path, 'dialect'],
        `"${backend.dialect}" is not a dialect; there are ${dialects.join(', ')}.${didYouMean(backend.dialect, dialects)}`,
      );
    else {
      const wrong = context.checkOptions(backend.dialect, backend.options);
      if (wrong !== null) problem([...path, 'options'], wrong);
    }
    checkEndpoints(context, backend, path);
    checkLimits(context, backend.limits, [...path, 'limits']);
    const set = new Map<string, Path>();
    backend.credentials.forEach((credential, at) =>
      checkHeader(credential.header, [...path, 'credentials', at, 'header']),
    );
    for (const header of Object.keys(backend.headers)) checkHeader(header, [...path, 'headers', header]);
    function checkHeader(header: string, where: Path): void {
      if (UNFIT_HEADERS.test(header)) problem(where, `"${header}" is set by the gateway itself`);
      else if (set.has(header)) problem(where, `"${header}" is set twice`);
      set.set(header, where);
    }
    checkHealth(context, backend, [...path, 'health']);
  });
}

/** What clients of the API append themselves. */
const ENDPOINT_PATH = /\/(?:chat\/completions|completions|embeddings|messages|generate)\/?$/;

function checkEndpoints(
  context: CheckContext,
  backend: CheckContext['document']['backends'][number],
  path: Path,
): void {
  const { problem, warn } = context;
  if (backend.endpoints.length === 0 && backend.endpoints_file === undefined)
    problem([...path, 'endpoints'], 'needs at least one endpoint');
  const seen = new Set<string>();
  let first: { readonly tls: boolean; readonly basePath: string } | null = null;
  backend.endpoints.forEach((endpoint, at) => {
    const where = [...path, 'endpoints', at, 'url'];
    const parsed = endpointOf(endpoint.url);
    if ('error' in parsed) {
      problem(where, parsed.error);
      return;
    }
    if (ENDPOINT_PATH.test(parsed.basePath))
      problem(
        where,
        `ends in an endpoint's own path: give the base that all have, ${endpoint.url.replace(ENDPOINT_PATH, '')}`,
      );
    if (isLinkLocal(parsed.host) && !backend.allow_link_local)
      problem(where, `${parsed.host} is link-local or a metadata service; set allow_link_local: true if that is meant`);
    if (backend.pool !== undefined && !isIpAddress(parsed.host))
      problem(where, `${parsed.host} is a name: endpoints of a pool need IP addresses`);
    if (backend.pool === undefined && endpoint.failure_domain !== undefined)
      warn([...path, 'endpoints', at, 'failure_domain'], 'has no effect without pool');
    const key = `${parsed.host}:${parsed.port}`;
    if (seen.has(key)) problem(where, `${key} stands here twice: use weight`);
    seen.add(key);
    first ??= parsed;
    if (parsed.tls !== first.tls) problem(where, 'must have the same scheme as the first endpoint: make two backends');
    if (parsed.basePath !== first.basePath)
      problem(where, 'must have the same path as the first endpoint: make two backends');
  });
}
