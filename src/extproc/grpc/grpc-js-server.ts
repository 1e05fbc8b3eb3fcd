import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { type Bind, grpcAddress } from '../bind.ts';
import type { AnyMethod, Call, CallListener, GrpcServer, GrpcServerOptions } from './call.ts';
import { withRaisedResetLimits } from './reset-limits.ts';

type Duplex = ServerDuplexStream<unknown, Buffer>;

/** A gRPC server on grpc-js. */
export function createGrpcJsServer({ bind, methods, messageBytes, streams }: GrpcServerOptions): GrpcServer {
  const server = new Server({
    'grpc.max_receive_message_length': messageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': streams,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    // Channelz would keep a record of every connection for ever.
    'grpc.enable_channelz': 0,
  });
  const open = new Set<Duplex>();
  for (const method of methods) {
    const serve = (duplex: Duplex): void => {
      open.add(duplex);
      duplex.once('close', () => open.delete(duplex));
      serveCall(method, duplex);
    };
    server.addService(definition(method), { Call: serve as UntypedHandleCall });
  }
  return {
    start: () => withRaisedResetLimits(() => listen(server, bind)),
    close: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
    destroy() {
      server.forceShutdown();
      // grpc-js tells a call of its end only when the socket does, and the process may be gone by then.
      for (const duplex of open) duplex.destroy();
    },
  };
}

/** On the wire every kind of method is a stream both ways. */
function definition(method: AnyMethod): ServiceDefinition {
  return {
    Call: {
      path: method.path,
      requestStream: true,
      responseStream: true,
      requestDeserialize: method.decode,
      responseSerialize: (bytes: Buffer) => bytes,
      requestSerialize: clientSide,
      responseDeserialize: clientSide,
    },
  };
}

function clientSide(): never {
  throw new TypeError('only the server side of this service exists');
}

function serveCall(method: AnyMethod, duplex: Duplex): void {
  let unsent = 0;
  let listener: CallListener<unknown> | null = null;
  let isOver = false;
  const call: Call<unknown> = {
    metadata: (name) => {
      const value = duplex.metadata.get(name)[0];
      return typeof value === 'string' ? value : '';
    },
    write(message) {
      if (isOver) return;
      const encoded = method.encode(message);
      const bytes = Buffer.isBuffer(encoded) ? encoded : Buffer.concat(encoded);
      unsent += bytes.length;
      duplex.write(bytes, () => {
        unsent -= bytes.length;
        if (!isOver) listener?.onDrain();
      });
    },
    unsent: () => (duplex.writableNeedDrain ? Number.POSITIVE_INFINITY : unsent),
    pause: () => void duplex.pause(),
    resume: () => void duplex.resume(),
    end(code, details) {
      if (isOver) return;
      isOver = true;
      if (code === 0) duplex.end();
      else duplex.emit('error', { code, details });
      // What still comes is read and dropped: an unread message would keep the call open.
      duplex.resume();
    },
  };
  let isClosed = false;
  // `cancelled` comes on every call that closes, clean ones too.
  const close = (): void => {
    isOver = true;
    if (isClosed || listener === null) return;
    isClosed = true;
    listener.onClose();
  };
  const opened = method.serve(call);
  listener = opened;
  duplex.on('data', (message: unknown) => {
    if (!isOver) opened.onMessage(message);
  });
  duplex.on('end', () => {
    if (!isOver) opened.onEnd();
  });
  duplex.on('drain', () => {
    if (!isOver) opened.onDrain();
  });
  duplex.on('cancelled', close);
  duplex.on('error', close);
  duplex.on('close', close);
}

function listen(server: Server, bind: Bind): Promise<number> {
  const tls = bind.kind === 'tcp' ? bind.tls : null;
  const credentials =
    tls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          tls.ca === null ? null : Buffer.from(tls.ca),
          [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) }],
          tls.ca !== null,
        );
  return new Promise((resolve, reject) => {
    server.bindAsync(grpcAddress(bind), credentials, (error, port) =>
      error === null ? resolve(bind.kind === 'unix' ? 0 : port) : reject(error),
    );
  });
}
