import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { AttemptExchangeFactory, RequestExchangeFactory } from '../core/exchange.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { ACCESS_LOG, createAccessLogHandler } from './access-log-service.ts';
import { AttemptSession } from './attempt-session.ts';
import { type Bind, clearStaleSocket, grpcAddress, requirePrivate, restrictSocket } from './bind.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import { driveStream, type ProcessCall } from './drive-stream.ts';
import { RequestSession } from './request-session.ts';
import { withRaisedResetLimits } from './reset-limits.ts';
import { EXTERNAL_PROCESSOR, HEALTH } from './service.ts';
import type { OpenSession } from './session.ts';
import { FAULT_STATUS } from './stream-fault.ts';

/** Initial metadata in which Envoy's configuration says which of the two streams a call is. */
export const LEVEL_KEY = 'tokenlat-level';
/** Initial metadata in which it may say the id of the request that a try belongs to. */
export const ID_KEY = 'tokenlat-id';

/** Room for headers, attributes and metadata beside a body. */
const MESSAGE_SLACK = 256 * 1024;

export interface ExtProcLimits {
  /** The largest body that comes in one message. */
  readonly messageBytes: number;
  /** Streams open at once on one connection. */
  readonly streams: number;
}

export interface ExtProcServerOptions {
  readonly bind: Bind;
  readonly requestFactory: RequestExchangeFactory;
  readonly attemptFactory: AttemptExchangeFactory;
  /** Envoy says that the upstream of this request broke in the middle of its answer. */
  readonly onUpstreamCut: (id: string) => void;
  readonly limits: ExtProcLimits;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

export interface ExtProcServer {
  /** Listens. Throws `TypeError` for a public address without mutual TLS, `Error` when the address is taken. */
  readonly start: () => Promise<void>;
  /**
   * Says NOT_SERVING and GOAWAY, takes no new connection, waits for the open streams and cuts what is left at the deadline.
   * Gives how many streams were cut.
   */
  readonly drain: (deadlineMs: number) => Promise<number>;
  /** `unix:<path>` or `<host>:<port>` with the port that was really taken. */
  readonly address: () => string;
  /** Streams open now. */
  readonly streams: () => number;
}

/** The gRPC server that Envoy's ext_proc filters of both levels talk to. */
export function createExtProcServer(options: ExtProcServerOptions): ExtProcServer {
  const { bind, limits } = options;
  const open = new Set<ProcessCall>();
  let serving = false;
  let port = bind.kind === 'tcp' ? bind.port : 0;

  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytes + MESSAGE_SLACK,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': limits.streams,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    // Channelz would keep a record of every connection for ever.
    'grpc.enable_channelz': 0,
  });
  server.addService(EXTERNAL_PROCESSOR, {
    Process: (call: ProcessCall): void => {
      open.add(call);
      call.once('close', () => open.delete(call));
      serveCall(call, options);
    },
  });
  const check: handleUnaryCall<string | MalformedMessage, boolean> = (call, callback) => {
    if (call.request instanceof MalformedMessage) {
      callback({ code: status.INVALID_ARGUMENT, details: `malformed message: ${call.request.message}` });
    } else if (call.request !== '' && call.request !== 'envoy.service.ext_proc.v3.ExternalProcessor') {
      callback({ code: status.NOT_FOUND, details: 'unknown service' });
    } else callback(null, serving);
  };
  server.addService(HEALTH, { Check: check });
  const accessLog = createAccessLogHandler(options.onUpstreamCut);
  server.addService(ACCESS_LOG, { StreamAccessLogs: accessLog.handler });

  return {
    async start() {
      requirePrivate(bind);
      if (bind.kind === 'unix') await clearStaleSocket(bind.path);
      port = await withRaisedResetLimits(() => listen(server, bind));
      if (bind.kind === 'unix') await restrictSocket(bind.path);
      serving = true;
    },
    async drain(deadlineMs) {
      serving = false;
      accessLog.close();
      return shutDown(server, open, deadlineMs);
    },
    address: () => grpcAddress(bind.kind === 'tcp' ? { ...bind, port } : bind),
    streams: () => open.size,
  };
}

function serveCall(call: ProcessCall, { requestFactory, attemptFactory, log, metrics }: ExtProcServerOptions): void {
  const level = call.metadata.get(LEVEL_KEY)[0];
  const id = call.metadata.get(ID_KEY)[0];
  let open: OpenSession;
  if (level === 'request') open = (output) => new RequestSession({ factory: requestFactory, output });
  else if (level === 'attempt') {
    open = (output) => new AttemptSession({ factory: attemptFactory, id: typeof id === 'string' ? id : '', output });
  } else {
    call.emit('error', {
      code: FAULT_STATUS.precondition,
      details: `initial metadata ${LEVEL_KEY} must be request or attempt`,
    });
    call.resume();
    metrics.anomaly('stream_without_level');
    return;
  }
  driveStream({ call, open, log, onFault: (kind) => metrics.anomaly(`stream_${kind}`) });
}

function listen(server: Server, bind: Bind): Promise<number> {
  const mtls = bind.kind === 'tcp' ? bind.mtls : null;
  const credentials =
    mtls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          Buffer.from(mtls.ca),
          [{ private_key: Buffer.from(mtls.key), cert_chain: Buffer.from(mtls.cert) }],
          true,
        );
  return new Promise((resolve, reject) => {
    server.bindAsync(grpcAddress(bind), credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  });
}

/** grpc-js waits for ever while one stream is open. */
async function shutDown(server: Server, open: ReadonlySet<ProcessCall>, deadlineMs: number): Promise<number> {
  let cut = 0;
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    new Promise<void>((resolve) => server.tryShutdown(() => resolve())),
    new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        cut = open.size;
        server.forceShutdown();
        resolve();
      }, deadlineMs);
    }),
  ]);
  clearTimeout(timer);
  return cut;
}
