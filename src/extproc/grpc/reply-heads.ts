/*
 * The header blocks of our answers, as HPACK literals that are not indexed (RFC 7541, section 6.2.2): the peer need keep no table for
 * us, and we need none for it.
 */

/** `:status: 200` is an entry of the static table; `content-type` is the name of another. */
const STATUS_200 = Buffer.from([0x88]);
const CONTENT_TYPE = Buffer.from([0x0f, 0x10]);

/** The beginning of an answer with messages. */
export const REPLY_HEAD = Buffer.concat([
  STATUS_200,
  CONTENT_TYPE,
  hpackText('application/grpc'),
  hpackField('grpc-accept-encoding', 'identity'),
]);

/** The end of an answer with messages, which went well. */
export const REPLY_OK = hpackField('grpc-status', '0');

/** The longest text that goes out with a status, in bytes after its encoding. */
const MAX_DETAILS = 2048;

/** The end of an answer; `isWhole` makes it the whole answer: one without messages. */
export function replyEnd(code: number, details: string, isWhole: boolean): Buffer {
  if (code === 0 && !isWhole) return REPLY_OK;
  return Buffer.concat([
    isWhole ? REPLY_HEAD : Buffer.alloc(0),
    hpackField('grpc-status', String(code)),
    details === '' ? Buffer.alloc(0) : hpackField('grpc-message', percentEncoded(details).slice(0, MAX_DETAILS)),
  ]);
}

/** An answer of plain HTTP, for what is no gRPC at all. */
export function httpReply(status: number): Buffer {
  return Buffer.concat([Buffer.from([0x08]), hpackText(String(status))]);
}

/** Everything but printable ASCII, and `%`, as `%XX`. */
function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}

function hpackField(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), hpackText(name), hpackText(value)]);
}

/** A string of printable ASCII, not compressed. */
function hpackText(text: string): Buffer {
  const length: number[] = [];
  if (text.length < 0x7f) length.push(text.length);
  else {
    length.push(0x7f);
    let rest = text.length - 0x7f;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) length.push((rest % 0x80) | 0x80);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), Buffer.from(text, 'latin1')]);
}
