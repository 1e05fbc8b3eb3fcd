import { sparkline } from '../charts/sparkline.ts';
import type { JobRow, Live, LiveRow, QueueRow } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { badge, card, stat, stats } from '../parts/card.ts';
import { dataTable, named, type TableColumn } from '../parts/table.ts';
import { count, duration, percent, shortCount, span } from '../text/format.ts';
import { shown, staleMark } from './part-view.ts';
import { TRAIL } from './view-model.ts';
import type { LiveTrail, ViewModel } from './view-model.ts';

/** Sums over all rows. */
export function liveTotals({ replicas, data }: Live) {
  const sum = (pick: (row: LiveRow) => number): number => data.reduce((all, row) => all + pick(row), 0);
  return {
    running: replicas.reduce((all, { running }) => all + running, 0),
    requests: sum(({ requests_per_minute }) => requests_per_minute),
    errors: sum(({ errors_per_minute }) => errors_per_minute),
    tokens: sum(({ tokens_per_minute }) => tokens_per_minute),
  };
}

/** What happens now. */
export function liveView({ facts, status, trail, now }: ViewModel): Child {
  return shown(facts.live, (live) => [
    liveStats(live, trail),
    card(
      {
        id: 'routes',
        title: 'By route',
        note: staleMark(facts.live, status.zone) ?? 'the last 60 seconds',
        wide: true,
      },
      liveTable(live.data),
    ),
    live.queues.length === 0
      ? null
      : card({ id: 'queues', title: 'Waiting for room', wide: true }, queueTable(live.queues)),
    live.jobs === null ? null : card({ id: 'jobs', title: 'Jobs', wide: true }, jobTable(live.jobs)),
    card({ id: 'replicas', title: 'Replicas', wide: true }, replicaTable(live.replicas, now)),
  ]);
}

function liveStats(live: Live, trail: LiveTrail): UiElement {
  const { running, requests, errors, tokens } = liveTotals(live);
  const errorLevel =
    errors === 0
      ? badge('good', 'no errors')
      : badge(errors * 10 >= requests ? 'bad' : 'warn', `${percent(requests > 0 ? errors / requests : 1)} fail`);
  return stats(
    stat('Running now', count(running), sparkline(trail.running, TRAIL)),
    stat('Requests a minute', shortCount(requests), sparkline(trail.requests, TRAIL)),
    stat('Tokens a minute', shortCount(tokens), sparkline(trail.tokens, TRAIL)),
    stat('Errors a minute', count(errors), errorLevel),
  );
}

const ms = (value: number | null): string => (value === null ? '\u2013' : duration(value));

/** Of models that are loaded when asked for. */
const LOADS: readonly TableColumn<LiveRow>[] = [
  {
    head: 'Cold',
    number: true,
    cell: ({ cold_share }) => (cold_share === null ? '\u2013' : percent(cold_share)),
  },
  { head: 'Warm 95 %', number: true, cell: ({ warm_ms_p95 }) => ms(warm_ms_p95) },
];

/** Routes and deployments with what they did in the last minute. */
export function liveTable(rows: readonly LiveRow[]): UiElement {
  return dataTable<LiveRow>({
    caption: 'Requests of the last 60 seconds, by route and deployment',
    hideCaption: true,
    rows: rows.toSorted((a, b) => b.requests_per_minute - a.requests_per_minute),
    empty: 'No request in the last 60 seconds.',
    columns: [
      { head: 'Route', cell: ({ route }) => named(route) },
      { head: 'Deployment', cell: ({ deployment, model }) => named(deployment ?? model) },
      { head: 'Running', number: true, cell: ({ running }) => count(running) },
      { head: 'Requests/min', number: true, cell: ({ requests_per_minute }) => count(requests_per_minute) },
      { head: 'Errors/min', number: true, cell: errorsOf },
      { head: 'Tokens/min', number: true, cell: ({ tokens_per_minute }) => shortCount(tokens_per_minute) },
      { head: 'Median', number: true, cell: ({ latency_ms_p50 }) => ms(latency_ms_p50) },
      { head: '95 %', number: true, cell: ({ latency_ms_p95 }) => ms(latency_ms_p95) },
      { head: 'First token', number: true, cell: ({ first_token_ms_p50 }) => ms(first_token_ms_p50) },
      ...(rows.some(({ cold_share }) => cold_share !== null) ? LOADS : []),
    ],
  });
}

function queueTable(rows: readonly QueueRow[]): UiElement {
  return dataTable<QueueRow>({
    caption: 'Requests that wait for a model with no room',
    hideCaption: true,
    rows,
    empty: 'Nobody waits.',
    columns: [
      { head: 'Model', cell: ({ model }) => named(model) },
      { head: 'Interactive', number: true, cell: ({ interactive }) => count(interactive) },
      { head: 'Batch', number: true, cell: ({ batch }) => count(batch) },
      { head: 'Longest now', number: true, cell: ({ oldest_ms }) => duration(oldest_ms) },
      { head: 'Waited/min', number: true, cell: ({ waited_per_minute }) => count(waited_per_minute) },
      { head: '95 %', number: true, cell: ({ wait_ms_p95 }) => ms(wait_ms_p95) },
      { head: 'Refused/min', number: true, cell: ({ refused_per_minute }) => count(refused_per_minute) },
    ],
  });
}

function jobTable(jobs: JobRow): UiElement {
  return dataTable<JobRow>({
    caption: 'Requests that nobody waits for',
    hideCaption: true,
    rows: [jobs],
    empty: '',
    columns: [
      { head: 'Waiting', number: true, cell: ({ queued }) => count(queued) },
      { head: 'Oldest', number: true, cell: ({ oldest_ms }) => (oldest_ms === null ? '\u2013' : span(oldest_ms)) },
      { head: 'Running', number: true, cell: ({ running }) => count(running) },
      { head: 'Failed', number: true, cell: ({ failed }) => (failed === 0 ? '0' : badge('warn', count(failed))) },
    ],
  });
}

function errorsOf({ errors_per_minute: errors, requests_per_minute: requests }: LiveRow): Child {
  if (errors === 0) return '0';
  return badge(errors * 2 >= requests ? 'bad' : 'warn', count(errors));
}

function replicaTable(replicas: Live['replicas'], now: number): UiElement {
  return dataTable({
    caption: 'Servers that answer',
    hideCaption: true,
    rows: replicas,
    empty: 'No server has said anything in the last seconds.',
    columns: [
      { head: 'Replica', cell: ({ id }) => h('code', {}, id) },
      { head: 'Workers', number: true, cell: ({ workers }) => count(workers) },
      { head: 'Running', number: true, cell: ({ running }) => count(running) },
      { head: 'Up for', cell: ({ started_at }) => span(now - Date.parse(started_at)) },
    ],
  });
}
