import type { Endpoint } from '../core/chat-request.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestHead } from '../core/http.ts';

/** Where a request wants to go. `disabled` is known and refused to everyone who may ask. */
export type Target =
  | { readonly kind: 'model'; readonly endpoint: Endpoint }
  | { readonly kind: 'list-models' }
  | { readonly kind: 'show-model'; readonly model: string }
  | { readonly kind: 'job'; readonly id: string; readonly action: 'show' | 'cancel' }
  | { readonly kind: 'disabled'; readonly path: string };

const MODEL_PATHS: Readonly<Record<string, Endpoint>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
  '/v1/embeddings': 'embeddings',
};

/** Reads path and method. Envoy has normalised the path; what is still odd is refused. Throws `GatewayError`. */
export function targetOf(head: RequestHead): Target {
  const query = head.path.indexOf('?');
  const path = query === -1 ? head.path : head.path.slice(0, query);
  const endpoint = Object.hasOwn(MODEL_PATHS, path) ? MODEL_PATHS[path] : undefined;
  if (endpoint !== undefined) {
    requireMethod(head, 'POST');
    return { kind: 'model', endpoint };
  }
  if (path === '/v1/models') {
    requireMethod(head, 'GET');
    return { kind: 'list-models' };
  }
  if (path.startsWith('/v1/models/')) {
    requireMethod(head, 'GET');
    return { kind: 'show-model', model: decoded(path.slice('/v1/models/'.length)) };
  }
  if (path.startsWith('/v1/jobs/')) {
    const action = head.method === 'DELETE' ? 'cancel' : 'show';
    if (action === 'show') requireMethod(head, 'GET', 'GET, DELETE');
    return { kind: 'job', id: decoded(path.slice('/v1/jobs/'.length)), action };
  }
  if (path.startsWith('/v1/fine_tun') || path.startsWith('/v1/fine-tun')) return { kind: 'disabled', path };
  throw new GatewayError(
    'unknown_endpoint',
    'Unknown request URL. Served here: /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, and /v1/jobs/{id} of a job.',
  );
}

/** Would its client rather come again for the answer (RFC 7240)? */
export function wantsJob(head: RequestHead): boolean {
  return head.headers
    .all('prefer')
    .join(',')
    .split(',')
    .some((each) => (each.split(';', 1)[0] ?? '').trim().toLowerCase() === 'respond-async');
}

function requireMethod(head: RequestHead, method: string, all = method): void {
  if (head.method === method) return;
  throw new GatewayError('method_not_allowed', `Only ${all} is allowed here.`, { headers: [['allow', all]] });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new GatewayError('invalid_path', 'The name in the path is not valid percent-encoding.', { cause });
  }
}

/** A body that we cannot look into does not pass. Throws `GatewayError` for any content coding but `identity`. */
export function refuseCoding(head: RequestHead): void {
  const all = head.headers.all('content-encoding');
  const codings = all.length === 0 ? '' : all.join(',').trim();
  if (codings === '' || codings.toLowerCase() === 'identity') return;
  throw new GatewayError(
    'unsupported_content_encoding',
    'Send the body without content-encoding: it is not decoded here.',
    {
      param: 'content-encoding',
    },
  );
}
