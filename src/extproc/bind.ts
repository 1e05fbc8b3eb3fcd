import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect, isIP } from 'node:net';
import { isLoopback } from '../lib/address/address.ts';
import { toError } from '../lib/error/to-error.ts';

/** PEM contents. A peer without a certificate of `ca` is refused; null: anybody may connect. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | null;
}

/** Where the server listens. Port 0 takes any free one. */
export type Bind =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number; readonly tls: ServerTls | null };

/**
 * Refuses an address that others can reach without proof of who they are: whoever speaks ext_proc to us is believed.
 * Throws `TypeError`.
 */
export function requirePrivate(bind: Bind): void {
  if (bind.kind === 'unix' || (bind.tls !== null && bind.tls.ca !== null) || isLoopback(bind.address)) return;
  throw new TypeError(
    `refusing to listen on ${bind.address} without mutual TLS: bind a loopback address or a unix socket`,
  );
}

/** The address as grpc-js wants it. */
export function grpcAddress(bind: Bind): string {
  if (bind.kind === 'unix') return `unix:${bind.path}`;
  return isIP(bind.address) === 6 ? `[${bind.address}]:${bind.port}` : `${bind.address}:${bind.port}`;
}

/** Takes away a socket file that a dead process left. Throws when somebody listens on it, or when it is no socket. */
export async function clearStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch((reason: NodeJS.ErrnoException) => {
    if (reason.code === 'ENOENT') return null;
    throw reason;
  });
  if (found === null) return;
  if (!found.isSocket()) throw new Error(`${path} exists and is not a socket`);
  try {
    if (await listens(path)) throw new Error(`another process listens on ${path}`);
    await unlink(path);
  } catch (cause) {
    const { code } = toError(cause) as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw cause;
    throw new Error(`${path} belongs to another user (${code}): choose another server.socket_dir`, { cause });
  }
}

/** Owner and group may connect: Envoy runs in our group. */
export async function restrictSocket(path: string): Promise<void> {
  await chmod(path, 0o660);
}

function listens(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (reason: NodeJS.ErrnoException) => {
      if (reason.code === 'ECONNREFUSED' || reason.code === 'ENOENT') resolve(false);
      else reject(reason);
    });
  });
}
