import type { GrpcServer, GrpcServerOptions } from './call.ts';
import { createGrpcJsServer } from './grpc-js-server.ts';
import { createLeanServer } from './lean-server.ts';

/** Who speaks gRPC: our own HTTP/2, or grpc-js on that of Node. */
export type GrpcEngine = 'lean' | 'grpc-js';

const ENGINES = { lean: createLeanServer, 'grpc-js': createGrpcJsServer } as const;

export function createGrpcServer(engine: GrpcEngine, options: GrpcServerOptions): GrpcServer {
  return ENGINES[engine](options);
}
