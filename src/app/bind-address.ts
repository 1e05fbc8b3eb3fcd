import { readFileSync } from 'node:fs';
import { workerAddresses } from '../config/worker-address.ts';
import type { MutualTls, Snapshot } from '../core/snapshot.ts';
import type { Bind } from '../extproc/bind.ts';

/** Where a worker listens, with certificates as PEM text. Throws when a file cannot be read. */
export function bindAddress({ server }: Snapshot, index: number): Bind {
  const address = workerAddresses(server)[index];
  if (address === undefined) throw new RangeError(`no address for worker ${index}`);
  if (address.kind === 'unix') return address;
  const { transport } = server;
  return { ...address, tls: transport.kind === 'tcp' && transport.mtls !== null ? contents(transport.mtls) : null };
}

function contents({ cert, key, ca }: MutualTls): MutualTls {
  const read = (path: string): string => readFileSync(path, 'utf8');
  return { cert: read(cert), key: read(key), ca: read(ca) };
}
