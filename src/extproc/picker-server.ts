import { setTimeout as sleep } from 'node:timers/promises';
import type { PickExchangeFactory } from '../core/pick.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { isLoopback } from '../lib/address/address.ts';
import { grpcAddress, type ServerTls } from './bind.ts';
import { driveStream } from './drive-stream.ts';
import { createGrpcServer, type GrpcEngine } from './grpc/engines.ts';
import { shutDown } from './grpc/shut-down.ts';
import { PickSession } from './pick-session.ts';
import { externalProcessor, healthCheck, SERVICE_NAME } from './service.ts';
import { toError } from '../lib/error/to-error.ts';

/** Room for headers and metadata beside a body. */
const MESSAGE_SLACK = 256 * 1024;
/** Of one connection: a proxy has one for each of its threads, and opens another when it is full. */
const STREAMS = 10_000;
/** Anybody on the network may connect: bodies that never end must not fill the memory, nor stay. */
const UNFINISHED = { messages: 8, bytes: 64 * 1024 * 1024, ms: 30_000 } as const;

export interface PickerServerOptions {
  readonly address: string;
  /** 0 = any free one. */
  readonly port: number;
  /** PEM contents; with `ca` only clients with a certificate of it are served. Null: plain text. */
  readonly tls: ServerTls | null;
  /** May others than this machine connect in plain text? */
  readonly allowPlaintext: boolean;
  readonly grpc: GrpcEngine;
  readonly factory: PickExchangeFactory;
  /** Could a request be sent anywhere now? */
  readonly isReady: () => boolean;
  readonly bodyBytes: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

export interface PickerServer {
  /** Listens. Throws `TypeError` for a public address in plain text, `Error` when the address is taken. */
  readonly start: () => Promise<void>;
  /** `host:port` with the port that was really taken. */
  readonly address: () => string;
  /** Streams open now. */
  readonly streams: () => number;
  /** Says that it leaves, gives proxies `noticeMs` to see it, and cuts what is still open after `drainMs`. */
  readonly stop: (noticeMs: number, drainMs: number) => Promise<void>;
}

/** The server of an Endpoint Picker: ext_proc and health, as meshes expect them. */
export function createPickerServer(options: PickerServerOptions): PickerServer {
  const { address, tls, isReady, log } = options;
  let open = 0;
  let leaving = false;
  let { port } = options;
  const process = externalProcessor((call) => {
    const { factory, bodyBytes, metrics } = options;
    open += 1;
    return driveStream({
      call,
      open: (output) => new PickSession({ factory, output, bodyBytes }),
      log,
      onFault: (kind) => metrics.anomaly(`stream_${kind}`),
      onClosed: () => (open -= 1),
    });
  });
  const server = createGrpcServer(options.grpc, {
    bind: { kind: 'tcp', address, port, tls },
    methods: [process, healthCheck((service) => healthOf(service, !leaving && isReady()))],
    messageBytes: options.bodyBytes + MESSAGE_SLACK,
    streams: STREAMS,
    unfinished: {
      bytes: Math.max(UNFINISHED.bytes, UNFINISHED.messages * (options.bodyBytes + MESSAGE_SLACK)),
      ms: UNFINISHED.ms,
    },
    onFault: (reason) => log.error('a call failed', { error: toError(reason) }),
  });
  return {
    async start() {
      if (tls === null && !options.allowPlaintext && !isLoopback(address))
        throw new TypeError(`refusing to listen on ${address} in plain text: give a certificate, or --plaintext`);
      port = await server.start();
    },
    address: () => grpcAddress({ kind: 'tcp', address, port, tls }),
    streams: () => open,
    async stop(noticeMs, drainMs) {
      leaving = true;
      await sleep(noticeMs);
      await shutDown(server, () => open, drainMs);
    },
  };
}

/** `liveness` and the empty name: the process answers. `readiness` and the service itself: it can pick. */
function healthOf(service: string, isReady: boolean): boolean | null {
  switch (service) {
    case '':
    case 'liveness':
      return true;
    case 'readiness':
    case SERVICE_NAME:
      return isReady;
    default:
      return null;
  }
}
