import path from 'node:path';
import type { Server } from '../core/snapshot.ts';

/** Where workers' sockets are when nobody says otherwise. */
export const DEFAULT_SOCKET_DIR = '/run/tokenlat';

/** Where one worker takes ext_proc calls. */
export type WorkerAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number };

/** The address of each worker, by index: what workers bind and what Envoy's cluster lists. */
export function workerAddresses(server: Pick<Server, 'workers' | 'transport'>): readonly WorkerAddress[] {
  const { transport } = server;
  return Array.from({ length: server.workers }, (_, index) =>
    transport.kind === 'unix'
      ? { kind: 'unix', path: path.posix.join(transport.socketDir, `worker-${index}.sock`) }
      : { kind: 'tcp', address: transport.address, port: transport.port + index },
  );
}
