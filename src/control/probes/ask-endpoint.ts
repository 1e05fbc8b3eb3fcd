import type { Endpoint } from '../../core/endpoint.ts';
import type { Backend } from '../../core/snapshot.ts';
import type { Answered, Ask, Question } from '../http/ask.ts';

export interface AskEndpointOptions extends Pick<Question, 'path' | 'timeoutMs' | 'maxBytes' | 'allowLinkLocal'> {
  readonly backend: Backend;
  readonly ask: Ask;
  readonly trust?: Question['trust'];
}

/** GET of a path of an endpoint, with the headers and credentials of its backend. Rejects as `Ask` does. */
export function askEndpoint(
  { backend, path, timeoutMs, maxBytes, allowLinkLocal, ask, trust }: AskEndpointOptions,
  { host, port }: Endpoint,
): Promise<Answered> {
  const { tls, headers, credentials } = backend;
  return ask({
    tls,
    host,
    port,
    path,
    method: 'GET',
    headers: [...headers, ...credentials],
    body: null,
    timeoutMs,
    maxBytes,
    allowLinkLocal,
    trust,
  });
}
