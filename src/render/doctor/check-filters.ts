import type { Snapshot } from '../../core/snapshot.ts';
import { ATTEMPT_FILTER, DESTINATION, LEVEL_KEY, NAMESPACES, PROCESSOR_CLUSTER, REQUEST_FILTER } from '../names.ts';
import type { ConnectionManager, EnvoyConfig, Tree } from './config-dump.ts';
import type { Report } from './finding.ts';

const RENDER = 'Take the filter as `tokenlat envoy render` writes it.';

const MODES = {
  request: {
    request_body_mode: 'FULL_DUPLEX_STREAMED',
    request_trailer_mode: 'SEND',
    response_body_mode: 'FULL_DUPLEX_STREAMED',
    response_trailer_mode: 'SEND',
  },
  attempt: { request_body_mode: 'NONE', response_body_mode: 'NONE' },
} as const;

const isExtProc = (filter: Tree): boolean =>
  filter.get('typed_config').get('@type').text().endsWith('.ExternalProcessor');
const levelOf = (filter: Tree): string =>
  filter
    .get('typed_config')
    .get('grpc_service')
    .get('initial_metadata')
    .items()
    .find((entry) => entry.get('key').text() === LEVEL_KEY)
    ?.get('value')
    .text() ?? '';

/** A filter that routes may let requests pass by is wrapped in a matcher. */
const bare = (filter: Tree): Tree => {
  const config = filter.get('typed_config');
  return config.get('@type').text().endsWith('.ExtensionWithMatcher') ? config.get('extension_config') : filter;
};

/** Are both filters there, in their places, and as strict as they must be? */
export function checkFilters(config: EnvoyConfig, snapshot: Snapshot, report: Report): void {
  const ours = config.managers.filter((manager) =>
    manager.config
      .get('http_filters')
      .items()
      .some((filter) => levelOf(filter) === 'request'),
  );
  if (ours.length === 0) {
    report(
      'error',
      'request_filter_missing',
      `No listener has the filter ${REQUEST_FILTER}: requests pass Envoy unchecked, or not at all.`,
      RENDER,
    );
    return;
  }
  for (const manager of ours) checkManager(manager, snapshot, report);
}

function checkManager({ config, listener }: ConnectionManager, snapshot: Snapshot, report: Report): void {
  const filters = config.get('http_filters').items();
  const at = filters.findIndex((filter) => levelOf(filter) === 'request');
  const name = listener.get('name').text();
  const request = filters[at];
  if (request === undefined) return;
  checkFilter(request, 'request', snapshot, report);
  checkNamespaces(request, snapshot, report);
  if (at !== filters.length - 2)
    report(
      'error',
      'filter_order',
      `On listener ${name} other filters stand between ${REQUEST_FILTER} and the router: what they change, nobody has checked.`,
      'Put it last before the router.',
    );
  const others = filters.filter((filter, index) => index !== at && isExtProc(filter));
  for (const other of others) {
    const { value } = other.get('typed_config').get('processing_mode').get('request_body_mode');
    if (value === 'FULL_DUPLEX_STREAMED')
      report(
        'error',
        'second_full_duplex',
        `The filter ${other.get('name').text()} is a second full-duplex ext_proc filter: bodies get truncated.`,
        'Move it to another listener, or give it another body mode.',
      );
  }
  const router = filters.at(-1)?.get('typed_config');
  const upstream = (router?.get('upstream_http_filters').items() ?? []).map(bare);
  const attempt = upstream.findIndex((filter) => levelOf(filter) === 'attempt');
  const found = upstream[attempt];
  if (found === undefined) {
    report(
      'error',
      'attempt_filter_missing',
      `The router of listener ${name} lacks ${ATTEMPT_FILTER}: backends would get requests untranslated.`,
      RENDER,
    );
    return;
  }
  checkFilter(found, 'attempt', snapshot, report);
  const lengthAfter = upstream
    .slice(attempt + 1)
    .some((filter) => filter.get('typed_config').get('@type').text().endsWith('.HeaderMutation'));
  if (!lengthAfter)
    report(
      'warning',
      'content_length_missing',
      `No header_mutation filter follows ${ATTEMPT_FILTER}: bodies go out chunked, which some servers refuse.`,
      RENDER,
    );
  checkHead(config, name, report);
}

function checkFilter(filter: Tree, level: 'request' | 'attempt', snapshot: Snapshot, report: Report): void {
  const config = filter.get('typed_config');
  const name = filter.get('name').text();
  if (config.get('failure_mode_allow').value === true)
    report(
      'error',
      'failure_mode_allow',
      `${name} lets requests pass when our server is down: without authentication and quota.`,
      'Set failure_mode_allow: false.',
    );
  for (const [key, wanted] of Object.entries(MODES[level])) {
    // The dump leaves out what has its zero value; the zero of a body mode is NONE.
    const value = config.get('processing_mode').get(key).text() || (key.endsWith('body_mode') ? 'NONE' : 'DEFAULT');
    if (value !== wanted)
      report('error', 'processing_mode', `${name} has ${key} ${value}; our server speaks ${wanted} only.`, RENDER);
  }
  if (config.get('mutation_rules').get('disallow_is_error').value !== true)
    report(
      'warning',
      'mutation_rules',
      `${name} drops forbidden header changes silently.`,
      'Set mutation_rules.disallow_is_error: true.',
    );
  if (config.get('grpc_service').get('envoy_grpc').get('cluster_name').text() !== PROCESSOR_CLUSTER)
    report('warning', 'processor_cluster', `${name} does not use the cluster ${PROCESSOR_CLUSTER}.`, RENDER);
  const timeout = Number.parseFloat(config.get('message_timeout').text() || '0.2') * 1000;
  if (Math.round(timeout) < snapshot.server.messageTimeoutMs)
    report(
      'error',
      'message_timeout',
      `${name} waits ${Math.round(timeout)} ms for an answer; the server counts on ${snapshot.server.messageTimeoutMs} ms.`,
      'Set message_timeout to server.message_timeout.',
    );
}

/** Whatever metadata is not received is dropped in silence: without the plan nothing is served, without the list anybody is. */
function checkNamespaces(filter: Tree, snapshot: Snapshot, report: Report): void {
  const received = filter
    .get('typed_config')
    .get('metadata_options')
    .get('receiving_namespaces')
    .get('untyped')
    .items();
  const has = new Set(received.map((namespace) => namespace.text()));
  const hasPools = [...snapshot.backends.values()].some(({ pool }) => pool !== undefined);
  const needed = [NAMESPACES.route, NAMESPACES.request, NAMESPACES.usage, ...(hasPools ? [DESTINATION.namespace] : [])];
  for (const namespace of needed)
    if (!has.has(namespace))
      report('error', 'receiving_namespaces', `${filter.get('name').text()} drops our metadata ${namespace}.`, RENDER);
}

function checkHead(config: Tree, name: string, report: Report): void {
  if (config.get('early_header_mutation_extensions').items().length === 0)
    report(
      'error',
      'client_headers_kept',
      `Listener ${name} passes x-tokenlat-* and x-envoy-* of clients on to us.`,
      'Add early_header_mutation_extensions as rendered.',
    );
  if (
    config.get('normalize_path').value !== true ||
    config.get('path_with_escaped_slashes_action').text() !== 'REJECT_REQUEST'
  )
    report(
      'warning',
      'path_normalisation',
      `Listener ${name} does not bring paths into one form.`,
      'Set normalize_path, merge_slashes and path_with_escaped_slashes_action as rendered.',
    );
  if (config.get('local_reply_config').get('mappers').items().length === 0)
    report(
      'warning',
      'local_replies',
      `Listener ${name} answers failures of its own without a JSON body.`,
      'Add local_reply_config as rendered.',
    );
}
