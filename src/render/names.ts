/** Envoy cluster of our workers. */
export const PROCESSOR_CLUSTER = 'tokenlat-ext-proc';
/** Where a request goes that has no verdict of ours: a cluster without endpoints. */
export const NO_PLAN_CLUSTER = 'tokenlat-no-plan';
/** Initial metadata that tells the two levels apart: `request` or `attempt`. */
export const LEVEL_KEY = 'tokenlat-level';

/** Initial metadata of a try: the id of its request. */
export const ID_KEY = 'tokenlat-id';
/** Envoy's own count of tries, on each of them. */
export const COUNT_HEADER = 'x-envoy-attempt-count';
/** Set by Envoy on answers of its own that our server still sees: their response code details. */
export const LOCAL_REPLY_HEADER = 'x-tokenlat-local';

/** Dynamic metadata: the plan, the request's id, the length of a try's body, figures for the access log. */
export const NAMESPACES = {
  route: 'tokenlat.route',
  request: 'tokenlat.request',
  attempt: 'tokenlat.attempt',
  usage: 'tokenlat.usage',
} as const;

/** Dynamic metadata by which endpoints are picked, as the Endpoint Picker protocol names it: `ip:port,ip:port`. */
export const DESTINATION = {
  namespace: 'envoy.lb',
  endpoint: 'x-gateway-destination-endpoint',
  served: 'x-gateway-destination-endpoint-served',
} as const;

/** Keys of `tokenlat.usage` that the access log prints. */
export const USAGE_FIELDS = [
  'route',
  'tenant',
  'model',
  'backend',
  'attempts',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'total_tokens',
  'cost',
  'currency',
] as const;

/** Name of the access log that tells of broken upstreams. */
export const CUT_LOG = 'tokenlat.cut';

export const ROUTE_CONFIG = 'tokenlat';
export const LISTENER = 'tokenlat';
export const REQUEST_FILTER = 'tokenlat.request';
export const ATTEMPT_FILTER = 'tokenlat.attempt';
export const LENGTH_FILTER = 'tokenlat.content-length';

/** Statuses of a backend after which the next candidate is tried. */
export const RETRIABLE_STATUSES = [408, 429, 500, 502, 503, 504, 529] as const;

/** Bytes that Envoy buffers on one connection before it stops reading: also the largest piece of a body in one message. */
export const CONNECTION_BUFFER_BYTES = 1024 * 1024;
