import { DEFAULT_WINDOW, H2_ERROR, MAX_FRAME_SIZE, MAX_WINDOW, MIN_FRAME_SIZE } from './frame.ts';
import { ConnectionError } from './h2-error.ts';

/** Settings of RFC 9113, section 6.5.2. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** What the peer asks of us. Its header table does not matter: we compress with no table. */
export interface PeerSettings {
  readonly initialWindow: number;
  readonly maxFrame: number;
}

export const DEFAULT_SETTINGS: PeerSettings = { initialWindow: DEFAULT_WINDOW, maxFrame: MIN_FRAME_SIZE };

/** Reads the payload of a SETTINGS frame over those in force. Throws `ConnectionError`. */
export function readSettings(before: PeerSettings, bytes: Buffer, start: number, end: number): PeerSettings {
  if ((end - start) % 6 !== 0) throw new ConnectionError(H2_ERROR.frameSize, 'SETTINGS of a broken length');
  let { initialWindow, maxFrame } = before;
  for (let at = start; at < end; at += 6) {
    const value = bytes.readUInt32BE(at + 2);
    switch (bytes.readUInt16BE(at)) {
      case SETTING.enablePush:
        if (value > 1) throw new ConnectionError(H2_ERROR.protocol, `ENABLE_PUSH is ${value}`);
        break;
      case SETTING.initialWindowSize:
        if (value > MAX_WINDOW) throw new ConnectionError(H2_ERROR.flowControl, `INITIAL_WINDOW_SIZE is ${value}`);
        initialWindow = value;
        break;
      case SETTING.maxFrameSize:
        if (value < MIN_FRAME_SIZE || value > MAX_FRAME_SIZE)
          throw new ConnectionError(H2_ERROR.protocol, `MAX_FRAME_SIZE is ${value}`);
        maxFrame = value;
        break;
      default:
    }
  }
  return { initialWindow, maxFrame };
}
