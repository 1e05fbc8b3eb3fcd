import { FLAG, FRAME, H2_ERROR } from './frame.ts';
import { ConnectionError } from './h2-error.ts';

/** Where a frame type belongs: to a stream, to the connection, or to either. */
type Place = 'stream' | 'connection' | 'either';

interface Rule {
  readonly name: string;
  readonly place: Place;
  /** The lengths of payload that it may have. */
  readonly least: number;
  readonly most: number;
}

const rule = (name: string, place: Place, least = 0, most: number = Number.POSITIVE_INFINITY): Rule => ({
  name,
  place,
  least,
  most,
});

/** RFC 9113, section 6, by frame type. */
const RULES: readonly (Rule | undefined)[] = [
  rule('DATA', 'stream'),
  rule('HEADERS', 'stream'),
  rule('PRIORITY', 'stream', 5, 5),
  rule('RST_STREAM', 'stream', 4, 4),
  rule('SETTINGS', 'connection'),
  rule('PUSH_PROMISE', 'stream'),
  rule('PING', 'connection', 8, 8),
  rule('GOAWAY', 'connection', 8),
  rule('WINDOW_UPDATE', 'either', 4, 4),
  rule('CONTINUATION', 'stream'),
];

/** Throws `ConnectionError` for a frame that no client may send, whatever came before it. Unknown types pass. */
export function checkFrame(type: number, flags: number, stream: number, length: number): void {
  const found = RULES[type];
  if (found === undefined) return;
  const { name, place, least, most } = found;
  if (place !== 'either' && (stream === 0) === (place === 'stream'))
    throw new ConnectionError(H2_ERROR.protocol, `${name} of stream ${stream}`);
  if (length < least || length > most)
    throw new ConnectionError(H2_ERROR.frameSize, `${name} with a payload of ${length} bytes`);
  if (type === FRAME.pushPromise) throw new ConnectionError(H2_ERROR.protocol, 'PUSH_PROMISE of a client');
  if (type === FRAME.settings && (flags & FLAG.ack) !== 0 && length > 0)
    throw new ConnectionError(H2_ERROR.frameSize, 'SETTINGS with ACK and a payload');
}
