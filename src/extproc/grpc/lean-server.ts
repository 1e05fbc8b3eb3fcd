import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Bind } from '../bind.ts';
import { H2Connection } from '../h2/connection.ts';
import type { AnyMethod, GrpcServer, GrpcServerOptions } from './call.ts';
import { GrpcCall } from './grpc-call.ts';
import { Unfinished } from './unfinished.ts';

/** How often an idle peer is asked whether it is there; it has as long to answer. */
const KEEPALIVE_MS = 15_000;

/** How long a TLS handshake may take. */
const HANDSHAKE_MS = 10_000;

/**
 * A gRPC server on sockets of its own: one read of a socket gives any number of frames, and what is written in one turn of the event
 * loop leaves in one write.
 */
export function createLeanServer(options: GrpcServerOptions): GrpcServer {
  const { bind, methods, messageBytes, streams, onFault } = options;
  const unfinished = options.unfinished === undefined ? null : new Unfinished(options.unfinished);
  const byPath = new Map<string, AnyMethod>(methods.map((method) => [method.path, method]));
  const connections = new Set<H2Connection>();
  let closed: (() => void) | null = null;

  const accept = (socket: Socket): void => {
    const connection = new H2Connection({
      socket,
      ownsReads: true,
      maxStreams: streams,
      now: () => performance.now(),
      onRequest: (stream, head) => new GrpcCall({ stream, head, methods: byPath, messageBytes, unfinished, onFault }),
      onFault,
      onClose: () => {
        connections.delete(connection);
        if (connections.size === 0) closed?.();
      },
    });
    connections.add(connection);
  };
  const server = createListener(bind, accept);
  const keepalive = setInterval(() => {
    for (const connection of connections) connection.askAlive();
  }, KEEPALIVE_MS).unref();

  return {
    start: () => listen(server, bind),
    close() {
      clearInterval(keepalive);
      server.close();
      for (const connection of connections) connection.drain();
      return new Promise((resolve) => {
        closed = resolve;
        if (connections.size === 0) resolve();
      });
    },
    destroy() {
      clearInterval(keepalive);
      server.close();
      for (const connection of connections) connection.destroy();
    },
  };
}

/** Only sockets that may speak: with TLS those that agreed on HTTP/2 and, where there is a `ca`, showed a certificate of it. */
function createListener(bind: Bind, accept: (socket: Socket) => void): Server {
  const tls = bind.kind === 'tcp' ? bind.tls : null;
  if (tls === null) return createServer({ noDelay: true }, accept);
  const options = {
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca === null ? {} : { ca: tls.ca, requestCert: true, rejectUnauthorized: true }),
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_MS,
    noDelay: true,
  };
  return createTlsServer(options, (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') accept(socket);
    else socket.destroy();
  });
}

function listen(server: Server, bind: Bind): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(bind.kind === 'unix' ? { path: bind.path } : { host: bind.address, port: bind.port }, () => {
      server.off('error', reject);
      // A connection that could not be accepted is that connection's fault.
      server.on('error', () => {});
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}
