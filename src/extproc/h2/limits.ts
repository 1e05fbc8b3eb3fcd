import { DEFAULT_WINDOW } from './frame.ts';

/** What one connection may cost. Our one peer, Envoy, comes near none of it. */

/** SETTINGS_HEADER_TABLE_SIZE: the default, with which a request's head takes some twenty bytes. */
export const TABLE_BYTES = 4096;

/** SETTINGS_MAX_HEADER_LIST_SIZE, overhead included. */
export const LIST_BYTES = 64 * 1024;

/** One header block as it comes over the wire, and the CONTINUATION frames that it may take. */
export const BLOCK_BYTES = 64 * 1024;
export const CONTINUATIONS = 16;

/** Bytes that the peer may send on a stream before any are taken from it: the default. */
export const STREAM_WINDOW = DEFAULT_WINDOW;

/**
 * The same for all streams together: the default, too. Each stream has its own bound, so this one never waits for them. With 16 MiB
 * all of 200 requests of 1 MiB at once broke; most likely Envoy's buffer of the connection filled, and it pushed back on every
 * stream, on which version 1.40 crashes in the upstream filter chain.
 */
export const CONNECTION_WINDOW = DEFAULT_WINDOW;

/**
 * A read of the socket up to this size may be kept by who takes what is in it. The memory of a larger one is given back at once: left to
 * the engine, which counts it, a few large bodies bring on a collection of everything.
 */
export const KEPT_BYTES = 4096;

/** Bytes in the socket above which streams wait, and above which a peer that reads nothing but keeps asking is let go. */
export const CONGESTED_BYTES = 1024 * 1024;
export const HOPELESS_BYTES = 8 * 1024 * 1024;

/** How long a peer may take to say that it speaks HTTP/2, and to take our last words. */
export const GREETING_MS = 10_000;
export const FAREWELL_MS = 1000;

/** Frames that ask for work and bring none. */
export const IDLE_FRAMES = { burst: 10_000, perSecond: 1000 } as const;

/**
 * A WINDOW_UPDATE of less counts as one of those. Of larger ones there can be no flood: a window that has grown past 2^31 ends the
 * connection.
 */
export const LEAST_UPDATE = 1024;

/** RST_STREAM: Envoy resets most calls at their end. */
export const RESETS = { burst: 200_000, perSecond: 50_000 } as const;
