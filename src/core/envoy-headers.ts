/** Envoy's key of a request, by which all its streams find the worker that has the request. */
export const AFFINITY_HEADER = 'x-tokenlat-affinity';

/**
 * Set by our server on a request: what its tries see of their answers (`head` or `body`; absent for nothing). `direct`: the
 * request is made already, so that its first try needs no stream.
 */
export const WATCH_HEADER = 'x-tokenlat-watch';
