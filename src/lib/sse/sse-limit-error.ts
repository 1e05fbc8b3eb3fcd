/** An event, a comment or a line is longer than the parser's bound. Nothing of it was emitted; the parser is spent. */
export class SseLimitError extends Error {
  /** The bound that was passed, in bytes. */
  readonly maxEventBytes: number;

  constructor(maxEventBytes: number) {
    super(`An event of the stream is longer than ${maxEventBytes} bytes.`);
    this.name = 'SseLimitError';
    this.maxEventBytes = maxEventBytes;
  }
}
