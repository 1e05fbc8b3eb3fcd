import type { RequestExchange } from '../../src/core/exchange.ts';
import { createExtProcServer, type ExtProcServer, type ExtProcServerOptions } from '../../src/extproc/server.ts';

/** Both ways to speak gRPC: what is promised is promised by each. */
export const GRPC_ENGINES = ['lean', 'grpc-js'] as const;

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Exchanges that pass everything on, and count how many are open. */
export function passing(): { readonly factory: () => RequestExchange; readonly open: () => number } {
  let open = 0;
  return {
    open: () => open,
    factory: () => {
      open++;
      return {
        onRequestHead: (_head, end) => (end ? { kind: 'forward', mutation: {} } : { kind: 'hold' }),
        onRequestBody: (_chunk, end) => (end ? { kind: 'forward', mutation: {} } : { kind: 'hold' }),
        onResponseHead: (_head, end) => ({ kind: 'send', chunks: [], end }),
        onResponseBody: (chunk, end) => ({ kind: 'send', chunks: [chunk], end }),
        close: () => {
          open--;
        },
      };
    },
  };
}

/** A server on a free port of the loopback. */
export async function testServer(options: Partial<ExtProcServerOptions> = {}): Promise<ExtProcServer> {
  const server = createExtProcServer({
    bind: { kind: 'tcp', address: '127.0.0.1', port: 0, tls: null },
    requestFactory: passing().factory,
    grpc: 'lean',
    onUpstreamCut: () => {},
    underWay: () => 0,
    attemptFactory: () => {
      throw new Error('no tries here');
    },
    limits: { messageBytes: 1 << 20, streams: 100 },
    log: quiet,
    metrics: { anomaly() {} },
    ...options,
  });
  await server.start();
  return server;
}
