import type { CaseGateway } from './case-gateway.ts';
import { headerOf, type StepRecord } from './observe.ts';
import type { CaseResult } from './run-case.ts';

const MOST_STEPS = 9;
const MOST_TEXT = 700;

/** What was seen, for whoever has to find out why a case fails. */
export async function evidenceOf({ failures, record, tenant }: CaseResult, env: CaseGateway): Promise<string> {
  const parts = failures.map((failure) => `✗ ${failure}`);
  for (const [index, step] of record.steps.slice(0, MOST_STEPS).entries()) {
    if (step !== null) parts.push(`— step ${index}`, ...(await stepEvidence(step, env)));
  }
  if (record.ledger.length > 0)
    parts.push(`— ledger of ${tenant}`, ...record.ledger.map((event) => JSON.stringify(event)));
  return parts.join('\n');
}

async function stepEvidence({ exchanges, calls }: StepRecord, env: CaseGateway): Promise<readonly string[]> {
  const [first] = exchanges;
  if (first === undefined) return ['nothing was sent'];
  const { answer } = first;
  const id = headerOf(answer, 'x-request-id');
  const raw = Buffer.concat(answer.pieces.map(({ bytes }) => bytes)).toString('utf8');
  const [trace] = id === null ? [] : await env.gateway.stores.traces.get(id).catch(() => []);
  return [
    `client: ${exchanges
      .map((one) => one.answer.status)
      .join(' ')
      .slice(0, 200)} (${answer.end}) ${JSON.stringify(answer.headers)}`,
    `raw: ${JSON.stringify(raw.slice(0, MOST_TEXT))}`,
    ...calls.slice(0, 4).map(({ backend, request }) => {
      const body = request.rawBody.toString('utf8').slice(0, MOST_TEXT);
      return `to ${backend}: ${request.method} ${request.path} ${JSON.stringify(request.headers).slice(0, 1500)} ${JSON.stringify(body)}`;
    }),
    `trace: ${JSON.stringify(trace ?? null)}`,
  ];
}
