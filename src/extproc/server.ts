import { setTimeout as sleep } from 'node:timers/promises';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { AttemptExchangeFactory, RequestExchangeFactory } from '../core/exchange.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { ACCESS_LOG, createAccessLogHandler } from './access-log-service.ts';
import { AttemptSession } from './attempt-session.ts';
import { type Bind, clearStaleSocket, grpcAddress, requirePrivate, restrictSocket } from './bind.ts';
import type { HealthCheckRequest } from './codec/health-check.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import { driveStream, type ProcessCall } from './drive-stream.ts';
import { RequestSession } from './request-session.ts';
import { withRaisedResetLimits } from './reset-limits.ts';
import { EXTERNAL_PROCESSOR, HEALTH, SERVICE_NAME } from './service.ts';
import type { OpenSession } from './session.ts';
import { FAULT_STATUS } from './stream-fault.ts';

/** Initial metadata in which Envoy's configuration says which of the two streams a call is. */
export const LEVEL_KEY = 'tokenlat-level';
/** Initial metadata in which it may say the id of the request that a try belongs to. */
export const ID_KEY = 'tokenlat-id';

/** How often a drain looks whether the last request is over. */
const DRAIN_POLL_MS = 20;

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
  /** Requests that may still open a stream for a try. */
  readonly underWay: () => number;
  readonly limits: ExtProcLimits;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

export interface ExtProcServer {
  /** Listens. Throws `TypeError` for a public address without mutual TLS, `Error` when the address is taken. */
  readonly start: () => Promise<void>;
  /**
   * Refuses new requests as UNAVAILABLE, which Envoy takes elsewhere, and goes on with those under way. Its health stays
   * good until there are none or the deadline is near: their tries must find their way here. Then it says NOT_SERVING, gives
   * Envoy `noticeMs` to see it, and sends GOAWAY. What is left at the deadline is cut. Gives how many streams were cut.
   */
  readonly drain: (deadlineMs: number, noticeMs?: number) => Promise<number>;
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
  let refusing = false;
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
      serveCall(call, options, refusing);
    },
  });
  const check: handleUnaryCall<HealthCheckRequest | MalformedMessage, boolean> = (call, callback) => {
    const { request } = call;
    if (request instanceof MalformedMessage) {
      callback({ code: status.INVALID_ARGUMENT, details: `malformed message: ${request.message}` });
    } else if (request.service !== '' && request.service !== SERVICE_NAME) {
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
    async drain(deadlineMs, noticeMs = 0) {
      const deadline = performance.now() + deadlineMs;
      const left = (): number => Math.max(0, deadline - performance.now());
      refusing = true;
      while (options.underWay() > 0 && left() > 0) await sleep(Math.min(DRAIN_POLL_MS, left()));
      serving = false;
      await sleep(Math.min(noticeMs, left()));
      accessLog.close();
      return shutDown(server, open, left());
    },
    address: () => grpcAddress(bind.kind === 'tcp' ? { ...bind, port } : bind),
    streams: () => open.size,
  };
}

function serveCall(
  call: ProcessCall,
  { requestFactory, attemptFactory, log, metrics }: ExtProcServerOptions,
  refusing: boolean,
): void {
  const level = call.metadata.get(LEVEL_KEY)[0];
  const id = call.metadata.get(ID_KEY)[0];
  let open: OpenSession;
  if (level === 'request' && refusing) {
    refuse(call, { code: FAULT_STATUS.unavailable, details: 'draining' });
    return;
  }
  if (level === 'request') open = (output) => new RequestSession({ factory: requestFactory, output });
  else if (level === 'attempt') {
    open = (output) => new AttemptSession({ factory: attemptFactory, id: typeof id === 'string' ? id : '', output });
  } else {
    refuse(call, {
      code: FAULT_STATUS.precondition,
      details: `initial metadata ${LEVEL_KEY} must be request or attempt`,
    });
    metrics.anomaly('stream_without_level');
    return;
  }
  driveStream({ call, open, log, onFault: (kind) => metrics.anomaly(`stream_${kind}`) });
}

function refuse(call: ProcessCall, status: { readonly code: number; readonly details: string }): void {
  call.emit('error', status);
  call.resume();
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
        // grpc-js tells a call of its end only when the socket does, and the process may be gone by then.
        for (const call of open) call.destroy();
        resolve();
      }, deadlineMs);
    }),
  ]);
  clearTimeout(timer);
  return cut;
}
