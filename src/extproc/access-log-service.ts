import { decodeLoggedIds } from './codec/access-log.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import { type AnyMethod, anyMethod, type Call, STATUS } from './grpc/call.ts';

const NOTHING = Buffer.alloc(0);

/**
 * `envoy.service.accesslog.v3.AccessLogService`: takes Envoy's word on requests whose upstream broke. Its answer is an empty
 * message that ends the stream. Envoy's streams never end by themselves: `close` ends them.
 */
export function createAccessLog(onUpstreamCut: (id: string) => void): {
  readonly method: AnyMethod;
  readonly close: () => void;
} {
  const open = new Set<Call<null>>();
  let closed = false;
  const finish = (call: Call<null>): void => {
    if (!open.delete(call)) return;
    call.write(null);
    call.end(STATUS.ok, '');
  };
  return {
    method: anyMethod<readonly string[] | MalformedMessage, null>({
      path: '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs',
      decode: decodeLoggedIds,
      encode: () => NOTHING,
      serve(call) {
        open.add(call);
        if (closed) finish(call);
        return {
          onMessage(ids) {
            if (ids instanceof MalformedMessage) finish(call);
            else for (const id of ids) onUpstreamCut(id);
          },
          onEnd: () => finish(call),
          onDrain: () => {},
          onClose: () => void open.delete(call),
        };
      },
    }),
    close() {
      closed = true;
      for (const call of open) finish(call);
    },
  };
}
