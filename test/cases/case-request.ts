import { type CaseRequest, isScript, type CaseUpstream } from './report.ts';
import type { RawRequestOptions } from './send-request.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { ourHeader } from './vocabulary.ts';

/** Values of `${…}` by name. */
export type Placeholders = Readonly<Record<string, string>>;

/** Fills `${name}` and `${repeat:y:51200}`. Throws on a name that is not known: it must not go out as it is. */
export function fillPlaceholders(text: string, values: Placeholders): string {
  return text.replaceAll(/\$\{([^}]+)\}/g, (_whole, name: string) => {
    const repeat = /^repeat:(.+):(\d+)$/.exec(name);
    if (repeat !== null) return (repeat[1] ?? '').repeat(Number(repeat[2]));
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new Error(`no value for \${${name}}`);
    return value;
  });
}

/** The bytes of a request body; null when there is none. */
export function bodyOf({ body, body_raw: raw, body_b64: base64, body_parts: parts }: CaseRequest): Buffer | null {
  if (raw !== undefined) return Buffer.from(raw);
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  if (parts !== undefined) {
    return Buffer.concat(
      parts.map((part) => Buffer.from(typeof part === 'string' ? part : part.repeat[0].repeat(part.repeat[1]))),
    );
  }
  return body === undefined ? null : Buffer.from(JSON.stringify(body));
}

/** A case's request as it goes over the wire. */
export function wireRequest(
  request: CaseRequest,
  values: Placeholders,
  port: number,
  chunked: boolean,
): RawRequestOptions {
  const body = bodyOf(request);
  const headers = Object.entries(request.headers).map(([name, value]): readonly [string, string] => {
    const text = value === '<exact>' ? String(body?.length ?? 0) : fillPlaceholders(value, values);
    return [ourHeader(name), text];
  });
  const half = Math.floor((body?.length ?? 0) / 2);
  return {
    port,
    method: request.method,
    path: request.path,
    headers,
    body,
    ...(chunked && body !== null ? { pieces: [body.subarray(0, half), body.subarray(half)] } : {}),
    ...(request.client_abort === undefined ? {} : { abortAfterEvents: request.client_abort.after_events }),
    ...(request.wait_for_continue_ms === undefined ? {} : { waitForContinueMs: request.wait_for_continue_ms }),
  };
}

/** What a backend answers in a step; null = it is not named, and is not to be asked. */
export function scriptFor(upstream: CaseUpstream, backend: string): UpstreamScript | readonly UpstreamScript[] | null {
  if (isScript(upstream)) return upstream;
  return Object.hasOwn(upstream, backend) ? (upstream[backend] ?? null) : null;
}
