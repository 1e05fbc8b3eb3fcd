import type { H2ErrorCode } from './frame.ts';

/** The peer has broken a rule that ends the whole connection: RFC 9113, section 5.4.1. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: H2ErrorCode;

  constructor(code: H2ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
