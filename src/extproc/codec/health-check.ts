import { MalformedMessage } from './malformed-message.ts';
import { BYTES, WireReader } from './wire-reader.ts';

/** `grpc.health.v1.HealthCheckRequest`. An empty service means the server as a whole. */
export interface HealthCheckRequest {
  readonly service: string;
}

/** Decodes one; a fault is a value, since gRPC has one status for all that throws. */
export function decodeHealthCheckRequest(bytes: Buffer): HealthCheckRequest | MalformedMessage {
  try {
    const reader = new WireReader(bytes);
    let service = '';
    while (reader.more) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | BYTES)) service = reader.utf8();
      else reader.skip(tag);
    }
    return { service };
  } catch (reason) {
    return reason instanceof MalformedMessage ? reason : new MalformedMessage('the message could not be read');
  }
}

/** `grpc.health.v1.HealthCheckResponse` with SERVING (1) or NOT_SERVING (2). */
export function encodeHealthCheckResponse(serving: boolean): Buffer {
  return Buffer.from([0x08, serving ? 1 : 2]);
}
