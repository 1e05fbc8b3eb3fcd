import { globSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseSize } from '../../src/config/units.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { answerView } from './observe-answer.ts';
import { bookingView, ledgerView } from './observe-ledger.ts';
import { answerOf, type UpstreamCall, upstreamView } from './observe-upstream.ts';
import { type CaseStep, isScript } from './report.ts';
import type { RawAnswer, RawRequestOptions } from './send-request.ts';
import { anyName, headersView, isView, Many, MISSING, named, UnknownPath, type View } from './view.ts';

/** A request of a step and what came back. */
export interface Exchange {
  readonly sent: RawRequestOptions;
  readonly answer: RawAnswer;
}

/** A step after it ran. */
export interface StepRecord {
  readonly step: CaseStep;
  readonly exchanges: readonly Exchange[];
  readonly calls: readonly UpstreamCall[];
  readonly keySetFetches: number;
}

/** All that is known of a case after it ran. A step that was left out is null. */
export interface CaseRecord {
  readonly steps: readonly (StepRecord | null)[];
  readonly probe: RawAnswer | null;
  readonly ledger: readonly LedgerEvent[];
  /** From the last answer's end to the first booking; null when none was looked for or came. */
  readonly bookedAfterMs: number | null;
  readonly workerRestarts: number;
  readonly openStreams: number | null;
}

const ROOT = new URL('../../', import.meta.url).pathname;

/** What a case's claims may speak of. A case without an index means its first step. */
export function observationOf(record: CaseRecord): View {
  const steps = record.steps.map((step) => (step === null ? MISSING : stepView(step, record.ledger)));
  const ran = steps.filter((step) => step !== MISSING);
  const first = (name: string) => (): unknown => {
    const [step] = steps;
    return isView(step) ? step.get(name) : MISSING;
  };
  const all = record.steps.flatMap((step) => step?.calls ?? []);
  return named('the observation', {
    client: first('client'),
    elapsed_ms: first('elapsed_ms'),
    sent: first('sent'),
    upstream_answer: first('upstream_answer'),
    upstream: () => upstreamView(all, false),
    ledger: () => ledgerView(record.ledger),
    step: () => ({ ...named('step', {}, ran), at: (key: string) => steps[Number(key)] ?? MISSING }),
    probe: () => named('probe', { client: () => (record.probe === null ? MISSING : answerView(record.probe)) }),
    within_ms: () => record.bookedAfterMs ?? MISSING,
    jwks: () =>
      named('jwks', {
        fetches_after_step: () => ({
          ...named('fetches_after_step', {}, []),
          at: (key: string) => record.steps[Number(key)]?.keySetFetches ?? MISSING,
        }),
      }),
    process: () => named('process', { restarts: () => record.workerRestarts }),
    processor: () => named('processor', { open_streams_after_6s: () => record.openStreams ?? MISSING }),
    shipped_config: () => named('shipped_config', { request_limit_bytes: shippedBodyLimit }),
    docs: documentation,
  });
}

function stepView({ step, exchanges, calls }: StepRecord, ledger: readonly LedgerEvent[]): View {
  const repeated = exchanges.length > 1;
  const clients = exchanges.map(({ answer }) => answerView(answer));
  const elapsed = exchanges.map(({ answer }) => answer.endedAt - answer.sentAt);
  return named('step', {
    client: () => (repeated ? new Many(clients) : (clients[0] ?? MISSING)),
    clients: () => clientsView(exchanges),
    sent: () => named('sent', { headers: () => headersView(exchanges[0]?.sent.headers ?? []) }),
    upstream: () => upstreamView(calls, repeated),
    upstream_answer: () => (isScript(step.upstream) ? answerOf(step.upstream) : MISSING),
    elapsed_ms: () => Math.max(...elapsed),
    ledger: () => {
      const ids = new Set(exchanges.map(({ answer }) => headerOf(answer, 'x-request-id')));
      const event = ledger.find((one) => one.chargedTo === 'tenant' && ids.has(one.requestId));
      return event === undefined ? MISSING : bookingView(event);
    },
    all_raw: () =>
      [...clients.map((client) => client.get('raw')), ...calls.map(({ request }) => request.rawBody.toString())].join(
        '\n',
      ),
  });
}

/** `[429]` is the first client that got that status. */
function clientsView(exchanges: readonly Exchange[]): View {
  const views = exchanges.map(({ answer }) => answerView(answer));
  return {
    isView: true,
    items: views,
    at(key) {
      const index = exchanges.findIndex(({ answer }) => String(answer.status) === key);
      return views[index] ?? MISSING;
    },
    get(name) {
      if (name === 'elapsed_ms') return new Many(views.map((view) => view.get('elapsed_ms')));
      if (name !== 'status_count') throw new UnknownPath(`clients has no "${name}"`);
      return anyName((status) => exchanges.filter(({ answer }) => String(answer.status) === status).length);
    },
  };
}

export function headerOf(answer: RawAnswer, name: string): string | null {
  return answer.headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
}

function shippedBodyLimit(): unknown {
  const shipped = parse(readFileSync(`${ROOT}examples/tokenlat.yaml`, 'utf8')) as { limits?: { body?: string } };
  return parseSize(shipped.limits?.body ?? '') ?? MISSING;
}

function documentation(): string {
  const files = globSync(['README.md', 'docs/**/*.md', 'src/**/README.md'], { cwd: ROOT });
  return files.map((file) => readFileSync(`${ROOT}${file}`, 'utf8')).join('\n');
}
