import { setTimeout as sleep } from 'node:timers/promises';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { PickExchangeFactory } from '../core/pick.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { isLoopback } from '../lib/address/address.ts';
import { grpcAddress } from './bind.ts';
import type { HealthCheckRequest } from './codec/health-check.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import { driveStream, type ProcessCall } from './drive-stream.ts';
import { PickSession } from './pick-session.ts';
import { withRaisedResetLimits } from './reset-limits.ts';
import { EXTERNAL_PROCESSOR, HEALTH, SERVICE_NAME } from './service.ts';

/** Room for headers and metadata beside a body. */
const MESSAGE_SLACK = 256 * 1024;
const STREAMS = 100_000;

export interface PickerServerOptions {
  readonly address: string;
  /** 0 = any free one. */
  readonly port: number;
  /** PEM contents; with `ca` only clients with a certificate of it are served. Null: plain text. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string | null } | null;
  /** May others than this machine connect in plain text? */
  readonly allowPlaintext: boolean;
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
  const { address, tls, isReady } = options;
  const open = new Set<ProcessCall>();
  let leaving = false;
  let { port } = options;
  const server = new Server({
    'grpc.max_receive_message_length': options.bodyBytes + MESSAGE_SLACK,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': STREAMS,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.enable_channelz': 0,
  });
  server.addService(EXTERNAL_PROCESSOR, {
    Process: (call: ProcessCall): void => {
      open.add(call);
      call.once('close', () => open.delete(call));
      const { factory, bodyBytes, log, metrics } = options;
      driveStream({
        call,
        open: (output) => new PickSession({ factory, output, bodyBytes }),
        log,
        onFault: (kind) => metrics.anomaly(`stream_${kind}`),
      });
    },
  });
  server.addService(HEALTH, { Check: healthCheck(() => !leaving && isReady()) });
  return {
    async start() {
      const bind = { kind: 'tcp', address, port, mtls: null } as const;
      if (tls === null && !options.allowPlaintext && !isLoopback(address))
        throw new TypeError(`refusing to listen on ${address} in plain text: give a certificate, or --plaintext`);
      port = await withRaisedResetLimits(() => listen(server, grpcAddress(bind), tls));
    },
    address: () => grpcAddress({ kind: 'tcp', address, port, mtls: null }),
    streams: () => open.size,
    async stop(noticeMs, drainMs) {
      leaving = true;
      await sleep(noticeMs);
      await shutDown(server, open, drainMs);
    },
  };
}

/** `liveness` and the empty name: the process answers. `readiness` and the service itself: it can pick. */
function healthCheck(isServing: () => boolean): handleUnaryCall<HealthCheckRequest | MalformedMessage, boolean> {
  return ({ request }, callback) => {
    if (request instanceof MalformedMessage) {
      callback({ code: status.INVALID_ARGUMENT, details: `malformed message: ${request.message}` });
      return;
    }
    switch (request.service) {
      case '':
      case 'liveness':
        callback(null, true);
        return;
      case 'readiness':
      case SERVICE_NAME:
        callback(null, isServing());
        return;
      default:
        callback({ code: status.NOT_FOUND, details: 'unknown service' });
    }
  };
}

function listen(server: Server, target: string, tls: PickerServerOptions['tls']): Promise<number> {
  const credentials =
    tls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          tls.ca === null ? null : Buffer.from(tls.ca),
          [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) }],
          tls.ca !== null,
        );
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  });
}

async function shutDown(server: Server, open: ReadonlySet<ProcessCall>, deadlineMs: number): Promise<void> {
  const deadline = sleep(deadlineMs, 'late' as const, { ref: false });
  const whole = new Promise<'whole'>((resolve) => server.tryShutdown(() => resolve('whole')));
  if ((await Promise.race([whole, deadline])) === 'whole') return;
  server.forceShutdown();
  for (const call of open) call.destroy();
}
