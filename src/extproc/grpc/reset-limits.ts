import http2 from 'node:http2';

/** The share of watched streams that a Node without configurable limits may have: each ends in a reset by Envoy. */
export const bodyWatchLimit = { perSecond: 25 } as const;

/** High enough that Envoy, our one peer, never meets it; the cap on open streams still stops a flood. */
const RESETS = { streamResetBurst: 1_000_000, streamResetRate: 1_000_000 } as const;

/** Does this Node let a server set how many RST_STREAM frames it takes (1000 at once and 33 a second by default)? */
export function supportsResetLimits(version: string = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 10);
}

/**
 * Runs `step` while servers are made with raised limits. Envoy resets a call that we end early, and over the limit Node
 * answers with GOAWAY, which fails every request on the connection. grpc-js passes no such option to `node:http2` and makes
 * its server somewhere inside `bindAsync`, so its two constructors are wrapped for just as long.
 */
export async function withRaisedResetLimits<T>(step: () => Promise<T>): Promise<T> {
  if (!supportsResetLimits()) return step();
  const { createServer, createSecureServer } = http2;
  const raise = <F extends (...args: never[]) => unknown>(make: F): F =>
    ((options: object, ...rest: unknown[]) =>
      (make as unknown as (...args: unknown[]) => unknown)({ ...options, ...RESETS }, ...rest)) as unknown as F;
  Object.assign(http2, { createServer: raise(createServer), createSecureServer: raise(createSecureServer) });
  try {
    return await step();
  } finally {
    Object.assign(http2, { createServer, createSecureServer });
  }
}
