import { createServer } from 'node:net';
import { StartupError } from './startup-error.ts';

/** Throws `StartupError` when something else listens on `address:port`. */
export function requireFreePort(address: string, port: number, key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.code ?? cause.message})`;
      reject(
        new StartupError(`port ${port} on ${address} ${why}: choose another ${key} in the configuration`, { cause }),
      );
    });
    probe.listen({ host: address, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
