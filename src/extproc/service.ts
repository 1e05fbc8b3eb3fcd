import type { ServiceDefinition } from '@grpc/grpc-js';
import { decodeHealthCheckRequest, encodeHealthCheckResponse } from './codec/health-check.ts';
import { deserializeProcessingRequest } from './codec/processing-request.ts';
import { encodeProcessingResponse } from './codec/processing-response.ts';

function clientSide(): never {
  throw new TypeError('only the server side of this service exists');
}

/** The one service beside health. */
export const SERVICE_NAME = 'envoy.service.ext_proc.v3.ExternalProcessor';

/** `envoy.service.ext_proc.v3.ExternalProcessor` with our codec in it. */
export const EXTERNAL_PROCESSOR: ServiceDefinition = {
  Process: {
    path: `/${SERVICE_NAME}/Process`,
    requestStream: true,
    responseStream: true,
    requestDeserialize: deserializeProcessingRequest,
    responseSerialize: encodeProcessingResponse,
    requestSerialize: clientSide,
    responseDeserialize: clientSide,
  },
};

/** `grpc.health.v1.Health`, `Check` alone: https://github.com/grpc/grpc/blob/master/doc/health-checking.md. */
export const HEALTH: ServiceDefinition = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestDeserialize: decodeHealthCheckRequest,
    responseSerialize: encodeHealthCheckResponse,
    requestSerialize: clientSide,
    responseDeserialize: clientSide,
  },
};
