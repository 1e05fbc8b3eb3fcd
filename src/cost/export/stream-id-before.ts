/** How far the clocks of a gateway and of Redis may be apart. */
const SKEW_MS = 3_600_000;

/** The last id of a Redis stream that cannot belong to a request that arrived at `time` (Unix milliseconds) or later. */
export function streamIdBefore(time: number): string {
  return `${Math.max(0, Math.trunc(time) - SKEW_MS)}-0`;
}
