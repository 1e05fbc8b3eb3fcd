import type { Report } from './finding.ts';

const COUNTERS: readonly (readonly [pattern: RegExp, code: string, what: string, fix: string])[] = [
  [
    /ext_proc\.[^ ]*rejected_header_mutations$/,
    'rejected_header_mutations',
    'Envoy refused header changes of our server',
    'Set mutation_rules as rendered.',
  ],
  [
    /ext_proc\.[^ ]*spurious_msgs_received$/,
    'spurious_msgs_received',
    'Envoy got answers that it did not expect',
    'Set processing_mode as rendered; report it when it is.',
  ],
  [
    /ext_proc\.[^ ]*clear_route_cache_ignored$/,
    'clear_route_cache_ignored',
    'Envoy ignored route changes',
    'Leave route_cache_action at its default.',
  ],
  [
    /ext_proc\.[^ ]*clear_route_cache_disabled$/,
    'clear_route_cache_ignored',
    'Envoy was told to ignore route changes',
    'Leave route_cache_action at its default.',
  ],
  [
    /ext_proc\.[^ ]*message_timeouts$/,
    'message_timeouts',
    'Our server was too slow for message_timeout',
    'Look for an overloaded worker or a slow store.',
  ],
  [
    /ext_proc\.[^ ]*failure_mode_allowed$/,
    'failure_mode_allowed',
    'Requests passed unchecked',
    'Set failure_mode_allow: false.',
  ],
  [
    /^cluster\.(?!tokenlat-ext-proc\.)[^ ]*\.retry_or_shadow_abandoned$/,
    'retry_or_shadow_abandoned',
    'Tries were given up, since a body was larger than the buffer',
    'Raise request_body_buffer_limit of the virtual host.',
  ],
  [
    /\.update_rejected$/,
    'update_rejected',
    'Envoy refused a configuration',
    "Look into Envoy's log, and check the files with `envoy --mode validate`.",
  ],
];

/** What Envoy counted. `stats` is the text of `/stats`. */
export function checkStats(stats: string, report: Report): void {
  const found = new Map<string, { total: number; names: string[] }>();
  for (const line of stats.split('\n')) {
    const match = /^([^\s:]+): (\d+)$/.exec(line.trim());
    const [name, count] = [match?.[1] ?? '', Number(match?.[2] ?? 0)];
    if (count === 0) continue;
    for (const [pattern, code] of COUNTERS) {
      if (!pattern.test(name)) continue;
      const entry = found.get(code) ?? { total: 0, names: [] };
      found.set(code, { total: entry.total + count, names: [...entry.names, name] });
    }
  }
  for (const [code, { total, names }] of found) {
    const rule = COUNTERS.find((counter) => counter[1] === code);
    if (rule === undefined) continue;
    const level = code === 'failure_mode_allowed' || code === 'update_rejected' ? 'error' : 'warning';
    report(level, code, `${rule[2]}: ${total} times (${names.slice(0, 3).join(', ')}).`, rule[3]);
  }
}
