import type { handleClientStreamingCall, ServerReadableStream, ServiceDefinition } from '@grpc/grpc-js';
import { decodeLoggedIds } from './codec/access-log.ts';
import { MalformedMessage } from './codec/malformed-message.ts';

type Call = ServerReadableStream<readonly string[] | MalformedMessage, null>;

function clientSide(): never {
  throw new TypeError('only the server side of this service exists');
}

/** `envoy.service.accesslog.v3.AccessLogService`; its answer is an empty message that ends the stream. */
export const ACCESS_LOG: ServiceDefinition = {
  StreamAccessLogs: {
    path: '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs',
    requestStream: true,
    responseStream: false,
    requestDeserialize: decodeLoggedIds,
    responseSerialize: () => Buffer.alloc(0),
    requestSerialize: clientSide,
    responseDeserialize: clientSide,
  },
};

/** Takes Envoy's word on requests whose upstream broke. Its streams never end by themselves: `close` ends them. */
export function createAccessLogHandler(onUpstreamCut: (id: string) => void): {
  readonly handler: handleClientStreamingCall<readonly string[] | MalformedMessage, null>;
  readonly close: () => void;
} {
  const open = new Map<Call, () => void>();
  let closed = false;
  return {
    handler(call, callback) {
      const finish = (): void => {
        if (open.delete(call)) callback(null, null);
      };
      open.set(call, finish);
      call.on('data', (ids: readonly string[] | MalformedMessage) => {
        if (ids instanceof MalformedMessage) finish();
        else for (const id of ids) onUpstreamCut(id);
      });
      call.on('end', finish);
      call.on('error', finish);
      call.on('cancelled', () => open.delete(call));
      if (closed) finish();
    },
    close() {
      closed = true;
      for (const finish of open.values()) finish();
    },
  };
}
