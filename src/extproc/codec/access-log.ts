import { MalformedMessage } from './malformed-message.ts';
import { BYTES, WireReader } from './wire-reader.ts';

/** The custom tag in which Envoy's access log entry names the request. */
export const REQUEST_TAG = 'tokenlat-id';

const HTTP_LOGS = 2;
const LOG_ENTRY = 1;
const COMMON_PROPERTIES = 1;
const CUSTOM_TAGS = 22;
const MAP_KEY = 1;
const MAP_VALUE = 2;

/**
 * Ids of the requests that a `StreamAccessLogsMessage` has entries of. Which requests are logged is the filter's word in
 * Envoy's configuration, so nothing else is read.
 */
export function decodeLoggedIds(bytes: Buffer): readonly string[] | MalformedMessage {
  const ids: string[] = [];
  try {
    const reader = new WireReader(bytes);
    each(reader, HTTP_LOGS, () =>
      each(reader, LOG_ENTRY, () =>
        each(reader, COMMON_PROPERTIES, () => each(reader, CUSTOM_TAGS, () => readTag(reader, ids))),
      ),
    );
    return ids;
  } catch (reason) {
    if (reason instanceof MalformedMessage) return reason;
    throw reason;
  }
}

/** Calls `inside` for every sub-message `field` of the message at hand, bounded to it. */
function each(reader: WireReader, field: number, inside: () => void): void {
  while (reader.more) {
    const tag = reader.tag();
    if (tag !== ((field << 3) | BYTES)) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.enter();
    inside();
    reader.leave(outer);
  }
}

function readTag(reader: WireReader, ids: string[]): void {
  let key = '';
  let value = '';
  while (reader.more) {
    const tag = reader.tag();
    if (tag === ((MAP_KEY << 3) | BYTES)) key = reader.utf8();
    else if (tag === ((MAP_VALUE << 3) | BYTES)) value = reader.utf8();
    else reader.skip(tag);
  }
  if (key === REQUEST_TAG && value !== '') ids.push(value);
}
