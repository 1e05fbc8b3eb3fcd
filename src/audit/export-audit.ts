import type { Writable } from 'node:stream';
import { once } from 'node:events';
import type { Json } from '../core/json.ts';
import { readRecords } from './read-records.ts';
import type { FoundRecord, OnUnreadable, RecordFilter } from './read-records.ts';

/** Facts that have a column of their own; `facts` holds all of them. */
const COLUMNS = [
  'request_id',
  'tenant',
  'subject',
  'business_line',
  'requested_model',
  'model',
  'backend',
  'route',
  'outcome',
  'status',
  'error',
  'cost',
  'currency',
  'total_ms',
] as const;

export interface ExportOptions {
  readonly dir: string;
  readonly filter: RecordFilter;
  /** `jsonl`: the canonical JSON of each record, byte for byte, so that its hash can be checked. `csv`: RFC 4180. */
  readonly format: 'jsonl' | 'csv';
  readonly to: Writable;
  readonly onUnreadable: OnUnreadable;
}

/** Writes the wanted records as they are read, no faster than they are taken. Gives how many. Rejects with the stream's error. */
export async function exportAudit({ dir, filter, format, to, onUnreadable }: ExportOptions): Promise<number> {
  let count = 0;
  const row = format === 'csv' ? csvRow : ({ text }: FoundRecord): string => `${text}\n`;
  if (format === 'csv') to.write(`${['time', 'chain', 'seq', 'hash', 'kind', ...COLUMNS, 'facts'].join(',')}\r\n`);
  for await (const found of readRecords(dir, filter, onUnreadable)) {
    count += found.length;
    if (!to.write(found.map(row).join(''))) await once(to, 'drain');
  }
  return count;
}

function csvRow({ record, hash, text }: FoundRecord): string {
  const { time, chain, seq, kind, facts } = record;
  const own = COLUMNS.map((column) => cell(facts[column]));
  const all = cell(text.slice(text.indexOf('"facts":') + '"facts":'.length, text.lastIndexOf(',"kind":')));
  return `${[new Date(time).toISOString(), chain, seq, hash, kind, ...own, all].join(',')}\r\n`;
}

/** A sheet would run a text that begins like a formula: such a text gets a quote in front. */
function cell(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
