import { addressOf } from '../core/endpoint.ts';
import { isAnyAddress } from '../lib/address/address.ts';

interface Listens {
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
}

/** Where a listener is reached from its own machine: `http://127.0.0.1:10000`. */
export function ownOrigin({ address, port, tls }: Listens): string {
  const host = isAnyAddress(address) ? '127.0.0.1' : address;
  return `${tls ? 'https' : 'http'}://${addressOf({ host, port })}`;
}
