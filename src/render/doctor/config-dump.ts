/** JSON of unknown origin, read by own keys only. */
export interface Tree {
  readonly value: unknown;
  get(key: string): Tree;
  items(): readonly Tree[];
  entries(): readonly (readonly [string, Tree])[];
  text(): string;
}

export function treeOf(value: unknown): Tree {
  const own = (key: string): unknown =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Record<string, unknown>)[key]
      : undefined;
  return {
    value,
    get: (key) => treeOf(own(key)),
    items: () => (Array.isArray(value) ? value.map(treeOf) : []),
    entries: () =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).map(([key, item]) => [key, treeOf(item)] as const)
        : [],
    text: () => (typeof value === 'string' ? value : ''),
  };
}

export interface ConnectionManager {
  readonly listener: Tree;
  readonly config: Tree;
}

/** The parts of Envoy's `/config_dump` that matter to us, static and dynamic alike. */
export interface EnvoyConfig {
  readonly bootstrap: Tree;
  readonly managers: readonly ConnectionManager[];
  readonly clusters: ReadonlyMap<string, Tree>;
  readonly virtualHosts: readonly Tree[];
}

export function readConfigDump(dump: unknown): EnvoyConfig {
  const configs = treeOf(dump).get('configs').items();
  const part = (type: string): Tree =>
    configs.find((config) => config.get('@type').text().endsWith(`.${type}`)) ?? treeOf(undefined);
  const listenersDump = part('ListenersConfigDump');
  const listeners = [
    ...listenersDump
      .get('static_listeners')
      .items()
      .map((entry) => entry.get('listener')),
    ...listenersDump
      .get('dynamic_listeners')
      .items()
      .map((entry) => entry.get('active_state').get('listener')),
  ];
  const clustersDump = part('ClustersConfigDump');
  const clusters = ['static_clusters', 'dynamic_active_clusters'].flatMap((kind) =>
    clustersDump
      .get(kind)
      .items()
      .map((entry) => entry.get('cluster')),
  );
  const routesDump = part('RoutesConfigDump');
  const routes = ['static_route_configs', 'dynamic_route_configs'].flatMap((kind) =>
    routesDump
      .get(kind)
      .items()
      .map((entry) => entry.get('route_config')),
  );
  return {
    bootstrap: part('BootstrapConfigDump').get('bootstrap'),
    managers: listeners.flatMap(managersOf),
    clusters: new Map(clusters.map((cluster) => [cluster.get('name').text(), cluster])),
    virtualHosts: routes.flatMap((route) => route.get('virtual_hosts').items()),
  };
}

function managersOf(listener: Tree): ConnectionManager[] {
  const chains = [...listener.get('filter_chains').items(), listener.get('default_filter_chain')];
  return chains
    .flatMap((chain) => chain.get('filters').items())
    .map((filter) => filter.get('typed_config'))
    .filter((config) => config.get('@type').text().endsWith('.HttpConnectionManager'))
    .map((config) => ({ listener, config }));
}
