/** Bytes that are no message of ours. The text names the fault and the place, never what stood there. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}
