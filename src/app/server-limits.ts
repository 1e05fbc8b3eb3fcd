import type { Snapshot } from '../core/snapshot.ts';

/** Room for headers, metadata and framing beside a body in one gRPC message. */
const MESSAGE_SLACK = 1024 * 1024;

/** The most ext_proc streams that one connection from Envoy may have open. */
const STREAMS = 100_000;

/** Limits of our gRPC side that follow from the configuration. */
export function serverLimits(config: Snapshot) {
  return { limits: { messageBytes: config.limits.bodyBytes + MESSAGE_SLACK, streams: STREAMS } } as const;
}
