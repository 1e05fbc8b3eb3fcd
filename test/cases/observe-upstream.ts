import type { MockRequest } from '../support/mock-upstream.ts';
import { scriptSteps, type UpstreamScript } from '../support/upstream-script.ts';
import { ABSENT, anyName, headersView, MISSING, named, type View } from './view.ts';

/** A request that came to a backend. */
export interface UpstreamCall {
  readonly backend: string;
  readonly request: MockRequest;
}

/**
 * The requests that backends saw, in order. Its names beside `count` and the like are those of the first request.
 * `repeated`: the client sent more than one, so `backends` names each backend once.
 */
export function upstreamView(calls: readonly UpstreamCall[], repeated: boolean): View {
  const views = calls.map((call) => callView(call));
  const names = calls.map(({ backend }) => backend);
  const summary = new Map<string, () => unknown>([
    ['count', () => calls.length],
    ['count_for', () => anyName((backend) => names.filter((name) => name === backend).length)],
    ['backends', () => (repeated ? [...new Set(names)] : names)],
  ]);
  return {
    isView: true,
    items: views,
    at: (key) => views[Number(key)] ?? MISSING,
    get(name) {
      const make = summary.get(name);
      if (make !== undefined) return make();
      return views[0] === undefined ? MISSING : views[0].get(name);
    },
  };
}

function callView({ backend, request }: UpstreamCall): View {
  const raw = (): string => request.rawBody.toString('utf8');
  return named('upstream', {
    backend: () => backend,
    body: () => request.json ?? ABSENT,
    raw_body: raw,
    body_bytes: () => request.rawBody.length,
    headers: () => headersView(request.headers),
    headers_raw: () => headerLines(request),
    headers_total_bytes: () => Buffer.byteLength(headerLines(request)),
    sent_ms: () => request.sentAt,
    all_text: raw,
    system_text: () => JSON.stringify((request.json as { system?: unknown } | undefined)?.system ?? ''),
  });
}

function headerLines({ headers }: MockRequest): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

/** What a script says as JSON; absent when it is none. */
export function answerOf(script: UpstreamScript): unknown {
  if (!('status' in script)) return ABSENT;
  const sent = scriptSteps(script.chunks ?? []).flatMap((step) => (step.kind === 'send' ? [step.bytes] : []));
  try {
    return JSON.parse(Buffer.concat(sent).toString('utf8'));
  } catch {
    return ABSENT;
  }
}
