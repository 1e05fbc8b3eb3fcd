import { GatewayError } from '../core/error.ts';
import type { ResponseHead } from '../core/http.ts';

/** Set by Envoy's `local_reply_config` on answers that it gives itself; holds the response code details. */
export const LOCAL_REPLY_HEADER = 'x-tokenlat-local';

/** Envoy's own answer in place of an upstream's as one of our errors; `null` when the upstream did answer. */
export function localReplyError(head: ResponseHead): GatewayError | null {
  const details = head.headers.get(LOCAL_REPLY_HEADER);
  if (details === undefined) return null;
  if (details.includes('request_overall_timeout')) {
    return new GatewayError('request_timeout', 'The request did not arrive in time.');
  }
  if (head.status === 504 || details.includes('timeout')) {
    return new GatewayError('upstream_timeout', 'The model service did not answer in time.');
  }
  if (head.status === 503 || head.status === 502) {
    return new GatewayError('upstream_unreachable', 'The model service could not be reached.', { retryAfterMs: 1000 });
  }
  return new GatewayError('upstream_error', 'The request could not be passed to the model service.', {
    status: head.status >= 400 ? head.status : 502,
  });
}

/** Why Envoy let go of an upstream that it has sent nothing to. */
const NEVER_SENT = /connection_failure|connection_timeout|overflow|refused_stream/;

/** What Envoy's own answer in place of an upstream's says of whether that one had the request; `null` when it does not say. */
export function wasSent(head: ResponseHead): boolean | null {
  const details = head.headers.get(LOCAL_REPLY_HEADER) ?? '';
  const [, reason] = /upstream_reset_[a-z_]*\{([^|}]+)/.exec(details) ?? [];
  return reason === undefined ? null : !NEVER_SENT.test(reason);
}

/** Details of Envoy's answers where there was nobody to send a try to. */
const NOBODY = ['no_healthy_upstream', 'cluster_not_found', 'maintenance_mode'];

/** Did Envoy answer without having asked anybody? */
export function isUnasked(head: ResponseHead): boolean {
  const details = head.headers.get(LOCAL_REPLY_HEADER);
  return details !== undefined && NOBODY.some((start) => details.startsWith(start));
}
