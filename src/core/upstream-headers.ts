import { addressOf, bracketed } from './endpoint.ts';
import { headerValue } from './header-value.ts';
import type { HeaderPair } from './http.ts';
import type { Backend } from './snapshot.ts';

/** The head of a request to a backend, with the pseudo headers of HTTP/2: what the dialect sets, then the backend's own. */
export function upstreamPairs(backend: Backend, path: string, own: readonly HeaderPair[]): readonly HeaderPair[] {
  const [endpoint] = backend.endpoints;
  const authority = endpoint === undefined ? backend.name : hostAndPort(endpoint.host, endpoint.port, backend.tls);
  const merged = new Map<string, string>([
    [':method', 'POST'],
    [':path', `${backend.basePath}${path}`],
    [':authority', authority],
    ['content-type', 'application/json'],
    ['accept-encoding', 'identity'],
    ...own,
    ...backend.headers,
    ...backend.credentials,
  ]);
  return [...merged].map(([name, value]) => [name, headerValue(value)] as const);
}

function hostAndPort(host: string, port: number, tls: boolean): string {
  return port === (tls ? 443 : 80) ? bracketed(host) : addressOf({ host, port });
}
