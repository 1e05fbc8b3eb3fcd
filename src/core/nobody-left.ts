import type { Decision } from './decision.ts';
import { type ErrorCode, GatewayError, type GatewayErrorOptions } from './error.ts';

/** A refusal because none of those that could serve may be asked. */
export class NobodyLeft extends GatewayError {
  /** Everyone that was looked at and why each is left out; made when asked for. */
  readonly judged: Decision['judged'];

  constructor(
    code: ErrorCode,
    message: string,
    { judged, ...options }: GatewayErrorOptions & { readonly judged: Decision['judged'] },
  ) {
    super(code, message, options);
    this.judged = judged;
  }
}
