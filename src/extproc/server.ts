import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptExchangeFactory, RequestExchangeFactory } from '../core/exchange.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { createAccessLog } from './access-log-service.ts';
import { AttemptSession } from './attempt-session.ts';
import { type Bind, clearStaleSocket, grpcAddress, requirePrivate, restrictSocket } from './bind.ts';
import { driveStream, type ProcessCall, type ProcessListener } from './drive-stream.ts';
import { createGrpcServer, type GrpcEngine } from './grpc/engines.ts';
import { shutDown } from './grpc/shut-down.ts';
import { RequestSession } from './request-session.ts';
import { externalProcessor, healthCheck, SERVICE_NAME } from './service.ts';
import type { OpenSession } from './session.ts';
import { FAULT_STATUS } from './stream-fault.ts';
import { toError } from '../lib/error/to-error.ts';

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
  readonly grpc: GrpcEngine;
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
  const { bind, limits, log } = options;
  const open = { count: 0 };
  let serving = false;
  let refusing = false;
  let port = bind.kind === 'tcp' ? bind.port : 0;
  const process = externalProcessor((call) => serveCall({ call, open, refusing, options }));
  const accessLog = createAccessLog(options.onUpstreamCut);
  const server = createGrpcServer(options.grpc, {
    bind,
    methods: [
      process,
      healthCheck((service) => (service === '' || service === SERVICE_NAME ? serving : null)),
      accessLog.method,
    ],
    messageBytes: limits.messageBytes + MESSAGE_SLACK,
    streams: limits.streams,
    onFault: (reason) => log.error('a call failed', { error: toError(reason) }),
  });

  return {
    async start() {
      requirePrivate(bind);
      if (bind.kind === 'unix') await clearStaleSocket(bind.path);
      port = await server.start();
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
      return shutDown(server, () => open.count, left());
    },
    address: () => grpcAddress(bind.kind === 'tcp' ? { ...bind, port } : bind),
    streams: () => open.count,
  };
}

interface ServedCall {
  readonly call: ProcessCall;
  /** Calls that are served now; this one counts until its end. */
  readonly open: { count: number };
  readonly refusing: boolean;
  readonly options: ExtProcServerOptions;
}

function serveCall({ call, open: calls, refusing, options }: ServedCall): ProcessListener {
  const { requestFactory, attemptFactory, log, metrics } = options;
  const level = call.metadata(LEVEL_KEY);
  let open: OpenSession;
  if (level === 'request' && refusing) {
    call.end(FAULT_STATUS.unavailable, 'draining');
    return DEAF;
  }
  if (level === 'request') open = (output) => new RequestSession({ factory: requestFactory, output });
  else if (level === 'attempt') {
    open = (output) => new AttemptSession({ factory: attemptFactory, id: call.metadata(ID_KEY), output });
  } else {
    call.end(FAULT_STATUS.precondition, `initial metadata ${LEVEL_KEY} must be request or attempt`);
    metrics.anomaly('stream_without_level');
    return DEAF;
  }
  calls.count += 1;
  return driveStream({
    call,
    open,
    log,
    onFault: (kind) => metrics.anomaly(`stream_${kind}`),
    onClosed: () => {
      calls.count -= 1;
    },
  });
}

/** For a call that is over before it began. */
const DEAF: ProcessListener = { onMessage: () => {}, onEnd: () => {}, onDrain: () => {}, onClose: () => {} };
