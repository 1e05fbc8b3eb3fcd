/** A header block that cannot be read. The state of the connection's compression is lost with it: RFC 7541, section 2.1. */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}
