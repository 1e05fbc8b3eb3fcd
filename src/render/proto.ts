/** A message of Envoy's configuration as plain data, keys as in the proto files. */
export type Proto = { readonly [key: string]: unknown };

/** A `google.protobuf.Any`. */
export function any(type: string, value: Proto = {}): Proto {
  return { '@type': `type.googleapis.com/${type}`, ...value };
}

/** An extension: a name and its typed configuration. */
export function extension(name: string, type: string, value: Proto = {}): Proto {
  return { name, typed_config: any(type, value) };
}

/** Of a retry: not where it was before, as long as there is anybody else. */
export const PREVIOUS_HOSTS: Proto = extension(
  'envoy.retry_host_predicates.previous_hosts',
  'envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
);

/** Milliseconds as a `google.protobuf.Duration`. */
export function seconds(ms: number): string {
  return `${ms / 1000}s`;
}

export function socketAddress(address: string, port: number): Proto {
  return { socket_address: { address, port_value: port } };
}

/** Where a resource is read from: a file that is replaced by a rename. */
export function fileSource(path: string): Proto {
  return { path_config_source: { path }, resource_api_version: 'V3' };
}
