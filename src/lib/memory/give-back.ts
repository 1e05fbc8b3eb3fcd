/**
 * Frees the memory of bytes that nobody reads any more: left to the engine, which counts it, a few large ones bring on a collection
 * of everything. Only where that memory holds at most `around` bytes more than these; whoever looks at it by mistake sees nothing.
 */
export function giveBack({ buffer, length }: Buffer, around = 0): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength - length <= around) buffer.transfer(0);
}
