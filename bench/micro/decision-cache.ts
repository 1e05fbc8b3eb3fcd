/**
 * `node bench/micro/decision-cache.ts`: what remembering decisions saves, in microseconds of this machine. Side by side: the whole decision of
 * the station with the memory of rules and without, the rules alone, and the list of candidates, which no memory keeps. Ends by itself.
 */
import { NO_DIRECTORY } from '../../src/core/ports/directory-view.ts';
import { withinTier } from '../../src/stations/route/cost-rules.ts';
import type { Asked } from '../../src/stations/route/eligible.ts';
import { rankCandidates } from '../../src/stations/route/rank-candidates.ts';
import { createRoute } from '../../src/stations/route/route.ts';
import {
  candidate,
  config,
  context,
  DEFAULT_ROUTE,
  model,
  route,
  silentLog,
} from '../../src/stations/route/route-kit.test.ts';
import { RoutingTable } from '../../src/stations/route/routing-table.ts';
import { silentMetrics } from '../../src/telemetry/silent.ts';
import { sideBySide } from './side-by-side.ts';

const OFF = { entries: 1, ttlMs: 0, fromSize: Infinity };
const ON = { entries: 10_000, ttlMs: 10_000, fromSize: 0 };
const clock = { now: () => performance.now(), time: () => Date.now() };
const asked: Asked = { name: 'auto', target: 'auto', endpoint: 'chat', canary: false };
const supports = () => true;

const RULES = {
  short: (at: number) => `request.app_id == 'app-${at}'`,
  long: (at: number) =>
    `request.type == 'chat' && tenant.tier in ['gold', 'standard'] && request.prompt_tokens > ${at} && request.last_message.contains('word-${at}') && !('x-skip-${at}' in headers)`,
} as const;

/** Rules of which none matches, then one that takes all. */
function setup(rules: number, kind: keyof typeof RULES, deployments: number) {
  const backends = Array.from({ length: deployments }, (_, at) => `b${at}`).join(' ');
  const routes = Array.from({ length: rules }, (_, at) =>
    route(`r${at}`, { match: RULES[kind](at), candidates: [candidate('m')] }),
  );
  return config([model('m', backends)], [...routes, route('last', { candidates: [candidate('m')] }), DEFAULT_ROUTE]);
}

const COLUMNS = ['decision: off', 'on', 'off/on', 'rules: off', 'on', 'off/on', 'candidates'] as const;
const line = (name: string, cells: readonly (string | number)[]): string =>
  `${name.padEnd(36)}${cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell).padStart(15)).join('')}\n`;

process.stdout.write(line('µs', COLUMNS));
for (const [rules, kind, deployments, chars] of [
  [0, 'short', 3, 10],
  [1, 'short', 3, 10],
  [3, 'short', 3, 10],
  [10, 'short', 3, 10],
  [50, 'short', 3, 10],
  [1, 'long', 3, 10],
  [3, 'long', 3, 10],
  [10, 'long', 3, 10],
  [50, 'long', 3, 10],
  [3, 'long', 3, 8000],
  [10, 'long', 3, 8000],
  [10, 'long', 30, 10],
  [10, 'long', 300, 10],
] as const) {
  const snapshot = setup(rules, kind, deployments);
  const text = 'many words '.repeat(chars / 10);
  const ctx = context(snapshot, {
    model: 'auto',
    json: { messages: [{ role: 'user', content: text }] },
    texts: [{ param: 'messages[0].content', role: 'user', text }],
  });
  const base = { log: silentLog, metrics: silentMetrics, clock, supports };
  const stations = [OFF, ON].map((cache) => createRoute({ ...base, cache }));
  const tables = [OFF, ON].map((cache) => new RoutingTable({ ...base, config: snapshot, cache }));
  const options = { config: snapshot, route: route('last', { candidates: [candidate('m')] }), asked, supports };
  const rank = { ...options, canaryShare: null, diverted: null, class: null, random: Math.random, healthOf: () => 1 };
  const [decisionOff = NaN, decisionOn = NaN, rulesOff = NaN, rulesOn = NaN, candidates = NaN] = sideBySide(
    [
      ...stations.map((station) => () => void station.preview(ctx)),
      ...tables.map((table) => () => void table.take(ctx, asked)),
      // Of all candidates, what does not depend on load: the most that another memory could save.
      () => {
        const all = rankCandidates(rank).flatMap((group) => group.candidates);
        withinTier(all, ctx.principal, NO_DIRECTORY);
      },
    ],
    Math.max(20, 400 / Math.max(1, deployments / 10)),
  );
  const cells = [decisionOff, decisionOn, decisionOff / decisionOn, rulesOff, rulesOn, rulesOff / rulesOn, candidates];
  const prompt = chars > 10 ? `, ${chars} characters` : '';
  process.stdout.write(line(`${rules} ${kind} rules, ${deployments} deployments${prompt}`, cells));
}
