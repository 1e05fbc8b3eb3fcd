/** Frame types of RFC 9113, section 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags; ACK and END_STREAM are the same bit of different frames. */
export const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** Error codes of RFC 9113, section 7. */
export const H2_ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;
export type H2ErrorCode = (typeof H2_ERROR)[keyof typeof H2_ERROR];

/** Bytes before a frame's payload. */
export const FRAME_HEAD = 9;

/** What a client says first. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const MAX_WINDOW = 2 ** 31 - 1;
export const DEFAULT_WINDOW = 65_535;
export const MIN_FRAME_SIZE = 16_384;
export const MAX_FRAME_SIZE = 2 ** 24 - 1;
export const MAX_STREAM_ID = 2 ** 31 - 1;
