import { decodeHealthCheckRequest, encodeHealthCheckResponse, type HealthCheckRequest } from './codec/health-check.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import { deserializeProcessingRequest } from './codec/processing-request.ts';
import { encodeInPieces } from './codec/processing-response.ts';
import type { ProcessCall, ProcessListener } from './drive-stream.ts';
import { type AnyMethod, anyMethod, STATUS } from './grpc/call.ts';

/** The one service beside health. */
export const SERVICE_NAME = 'envoy.service.ext_proc.v3.ExternalProcessor';

/** How its messages are read and written. */
export const PROCESS_CODEC = { decode: deserializeProcessingRequest, encode: encodeInPieces };

/** `envoy.service.ext_proc.v3.ExternalProcessor` with our codec in it. */
export function externalProcessor(serve: (call: ProcessCall) => ProcessListener): AnyMethod {
  return anyMethod({ path: `/${SERVICE_NAME}/Process`, ...PROCESS_CODEC, serve });
}

/**
 * `grpc.health.v1.Health`, `Check` alone: https://github.com/grpc/grpc/blob/master/doc/health-checking.md. `isServing` speaks for
 * the service of that name, the empty one being the server as a whole; null = there is no such service.
 */
export function healthCheck(isServing: (service: string) => boolean | null): AnyMethod {
  return anyMethod<HealthCheckRequest | MalformedMessage, boolean>({
    path: '/grpc.health.v1.Health/Check',
    decode: decodeHealthCheckRequest,
    encode: encodeHealthCheckResponse,
    serve(call) {
      let isAnswered = false;
      return {
        onMessage(request) {
          if (isAnswered) return;
          isAnswered = true;
          if (request instanceof MalformedMessage) {
            call.end(STATUS.invalidArgument, `malformed message: ${request.message}`);
            return;
          }
          const answer = isServing(request.service);
          if (answer === null) call.end(STATUS.notFound, 'unknown service');
          else call.write(answer);
        },
        onEnd() {
          if (isAnswered) call.end(STATUS.ok, '');
          else call.end(STATUS.internal, 'no message came');
        },
        onDrain: () => {},
        onClose: () => {},
      };
    },
  });
}
