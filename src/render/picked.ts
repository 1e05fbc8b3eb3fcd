import type { Pool } from '../core/endpoint.ts';
import { DESTINATION } from './names.ts';
import { extension, seconds } from './proto.ts';
import type { Proto } from './proto.ts';

/**
 * How Envoy chooses among the endpoints of a pool: try n of a request goes to the next entry of our list that is in the
 * cluster. It asks nobody whether that host is well. Without a list, and past its end, it chooses for itself.
 */
export function picked({ slowStartMs }: Pool): Proto {
  const inMetadata = (key: string): Proto => ({ key: DESTINATION.namespace, path: [{ key }] });
  return {
    policies: [
      {
        typed_extension_config: extension(
          'envoy.load_balancing_policies.override_host',
          'envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost',
          {
            override_host_sources: [{ metadata: inMetadata(DESTINATION.endpoint) }],
            selected_host_key: inMetadata(DESTINATION.served),
            fallback_policy: {
              policies: [
                {
                  typed_extension_config: extension(
                    'envoy.load_balancing_policies.least_request',
                    'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
                    slowStartMs === 0 ? {} : { slow_start_config: { slow_start_window: seconds(slowStartMs) } },
                  ),
                },
              ],
            },
          },
        ),
      },
    ],
  };
}
