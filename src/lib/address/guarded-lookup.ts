import type { LookupFunction } from 'node:net';
import { isLinkLocal } from './address.ts';

/** One address of a host. */
interface Found {
  readonly address: string;
  readonly family: number;
}

/** Finds all addresses of a host. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly Found[]) => void,
) => void;

/** What a caller is told of a host that `isLinkLocal`. */
export function linkLocalRefusal(host: string): Error {
  return new Error(`${host} leads to a link-local address or a metadata service`);
}

/**
 * Resolves a host for one connection and refuses it when any of its addresses is link-local or a metadata service. The socket
 * connects to what was checked here, so a name cannot say one thing to the check and another to the connection.
 */
export function guardedLookup(resolve: Resolve): LookupFunction {
  return (host, { all }, done) => {
    resolve(host, (error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) return done(error ?? new Error(`${host} has no address`), '');
      if (addresses.some(({ address }) => isLinkLocal(address))) return done(linkLocalRefusal(host), '');
      return all === true ? done(null, [...addresses]) : done(null, first.address, first.family);
    });
  };
}
