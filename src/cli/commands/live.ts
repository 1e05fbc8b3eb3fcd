import type { Command } from 'commander';
import { adminCommand, formatOf, openAdmin, watchOption, type AdminFlags } from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { bar, renderRows, type Column } from '../output.ts';
import { printable } from '../printable.ts';
import { field } from '../records.ts';
import { spanOf } from '../span.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { show } from '../watch.ts';

interface LiveFlags extends AdminFlags {
  readonly watch?: boolean;
}

const WHERE = [field('route'), field('model'), field('deployment'), field('backend'), field('running')];
const FIGURES = [
  field('requests_per_minute', 'req/min'),
  field('errors_per_minute', 'err/min'),
  field('tokens_per_minute', 'tok/min'),
  field('latency_ms_p50', 'p50 ms'),
  field('latency_ms_p95', 'p95 ms'),
  field('first_token_ms_p50', 'first ms'),
  field('cold_share', 'cold'),
  field('warm_ms_p95', 'warm p95 ms'),
];

const QUEUES = [
  field('model', 'waiting for'),
  field('interactive'),
  field('batch'),
  field('oldest_ms', 'oldest ms'),
  field('waited_per_minute', 'waited/min'),
  field('wait_ms_p95', 'p95 ms'),
  field('refused_per_minute', 'refused/min'),
];

/** `tokenlat live`: what runs now, over all replicas. */
export function liveCommand(terminal: Terminal = processTerminal): Command {
  return watchOption(
    adminCommand('live', 'show what runs now, over all replicas: requests, errors, tokens, times'),
  ).action(async (flags: LiveFlags) => {
    const client = await openAdmin(flags, terminal);
    const format = formatOf(flags);
    await show(terminal, flags, async () => {
      const { body } = await client.get(pathOf('live'));
      const rows = listOf(body, 'data');
      const text = renderRows({ format, columns: [...WHERE, ...FIGURES, trafficOf(rows)], rows, body });
      if (format !== 'table') return text;
      const queues = listOf(body, 'queues');
      const waiting = queues.length === 0 ? '' : `\n${renderRows({ format, columns: QUEUES, rows: queues, body })}`;
      return `${replicasText(listOf(body, 'replicas'), terminal.time())}\n${text}${waiting}${jobsText(body['jobs'])}`;
    });
  });
}

function listOf(body: Answer, name: string): readonly Answer[] {
  return Array.isArray(body[name]) ? (body[name] as readonly Answer[]) : [];
}

/** A row's part of all requests. */
function trafficOf(rows: readonly Answer[]): Column<Answer> {
  const requests = (row: Answer): number => Number(row['requests_per_minute'] ?? 0);
  const all = rows.reduce((sum, row) => sum + requests(row), 0);
  return { title: 'traffic', name: null, value: (row) => (all > 0 ? bar(requests(row), all) : '') };
}

function jobsText(jobs: unknown): string {
  if (typeof jobs !== 'object' || jobs === null || Array.isArray(jobs)) return '';
  const { queued, running, failed, oldest_ms: oldest } = jobs as Answer;
  const since = typeof oldest === 'number' ? ` (the oldest for ${spanOf(oldest)})` : '';
  return `\njobs: ${printable(queued)} waiting${since}, ${printable(running)} running, ${printable(failed)} failed\n`;
}

function replicasText(replicas: readonly Answer[], now: number): string {
  if (replicas.length === 0) return 'no replica is heard of\n';
  return replicas
    .map(({ id, workers, running, started_at: startedAt }) => {
      const age = spanOf(now - Date.parse(String(startedAt)));
      return `replica ${printable(id)}: ${printable(workers)} workers, ${printable(running)} requests under way, up ${age}\n`;
    })
    .join('');
}
