/** gRPC status codes that a session ends with: https://grpc.io/docs/guides/status-codes/. */
export const FAULT_STATUS = {
  /** Messages in an order that Envoy never sends. */
  invalid: 3,
  /** Envoy is configured in a way that we do not serve. */
  precondition: 9,
  /** The stream ended before its answer. */
  aborted: 10,
  internal: 13,
  /** Another server may well serve this: Envoy tries the next one. */
  unavailable: 14,
} as const;

/** Why a stream ends with an error. The text reaches Envoy's access log: it holds no secret and nothing from outside. */
export class StreamFault extends Error {
  override readonly name = 'StreamFault';
  readonly kind: keyof typeof FAULT_STATUS;

  constructor(kind: keyof typeof FAULT_STATUS, message: string) {
    super(message);
    this.kind = kind;
  }
}
