import { oncePer } from './once-per.ts';

/** One address of a backend. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly weight: number;
  /** Where it stands; left out: not said. */
  readonly zone?: string;
  /** What fails together with it: a rack, a host. Left out: the zone, else the endpoint alone. */
  readonly failureDomain?: string;
}

/** A backend whose endpoints are all by IP address, and each a target of its own. */
export interface Pool {
  /** How long a new endpoint takes to get its whole share where Envoy chooses for itself; 0 = at once. */
  readonly slowStartMs: number;
}

/** A host as it stands in URLs and before ports: IPv6 in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** `ip:port` as Envoy writes addresses, `[ip]:port` for IPv6. */
export function addressOf({ host, port }: Pick<Endpoint, 'host' | 'port'>): string {
  return `${bracketed(host)}:${port}`;
}

const byAddress = oncePer(
  (endpoints: readonly Endpoint[]): ReadonlyMap<string, Endpoint> =>
    new Map(endpoints.map((endpoint) => [addressOf(endpoint), endpoint])),
);

/** The endpoint of a backend that has this address. */
export function endpointAt(
  { endpoints }: { readonly endpoints: readonly Endpoint[] },
  address: string,
): Endpoint | undefined {
  return byAddress(endpoints).get(address);
}
