import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import { parseJson } from '../../lib/json-span/parse-json.ts';
import type { Caller } from '../access/caller.ts';
import type { AdminDeps } from '../admin-deps.ts';
import type { AdminRequest, AdminRoute } from '../route.ts';
import { AdminError } from './admin-error.ts';
import { describeIssue } from './describe-issue.ts';

/** A request as HTTP brings it. */
export interface RawRequest {
  readonly id: string;
  readonly address: string;
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: Buffer | null;
}

const MAX_DEPTH = 16;
/** Query parameters that are numbers: on the wire they are text. */
const NUMBERS = ['limit', 'count'] as const;

/** Checks every part of a request against the route's schemas, and its tenant against the caller's. Throws 400 and 403. */
export function readRequest(
  route: AdminRoute,
  raw: RawRequest,
  caller: Caller,
  deps: AdminDeps,
): AdminRequest<unknown, unknown, unknown> {
  const params = check(route.params, raw.params, '');
  const query = check(route.query, numbers(raw.query), 'query');
  const body = readBody(route, raw.body);
  const ifMatch = readIfMatch(route, raw.headers['if-match']);
  return { caller, tenant: tenantOf(route, caller, params, query, body), params, query, body, ifMatch, deps };
}

function tenantOf(route: AdminRoute, caller: Caller, params: unknown, query: unknown, body: unknown): string | null {
  const { rule } = route;
  const place = rule.kind === 'public' ? 'none' : rule.tenant;
  if (place === 'none' || place === 'record' || place === 'any') return caller.tenant;
  const part = place === 'path' ? params : place === 'query' ? query : body;
  const named = (part as { readonly tenant?: string | undefined } | undefined)?.tenant ?? caller.tenant;
  if (caller.tenant !== null && named !== caller.tenant)
    throw new AdminError('tenant_not_allowed', 'This caller may act for its own tenant only.');
  return named;
}

function readBody(route: AdminRoute, bytes: Buffer | null): unknown {
  const empty = bytes === null || bytes.length === 0;
  if (route.body === null) {
    if (!empty && bytes.toString('latin1').trim() !== '{}')
      throw new AdminError('invalid_value', 'This takes no body.', { param: 'body' });
    return undefined;
  }
  if (empty) throw new AdminError('invalid_json', 'A body in JSON is missing.');
  return check(route.body, parseJson(bytes, { maxDepth: MAX_DEPTH, refuseDuplicates: true }).value, 'body');
}

function check(schema: z.ZodObject | null, value: unknown, what: string): unknown {
  if (schema === null) {
    const unknown = Object.keys((value as object | null) ?? {})[0];
    if (unknown === undefined) return undefined;
    throw new AdminError('invalid_value', 'There is no such parameter.', { param: unknown.slice(0, 64) });
  }
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  if (issue === undefined) throw new AdminError('invalid_value', 'The request is not well-formed.');
  if (issue.code === 'unrecognized_keys')
    throw new AdminError('invalid_value', 'There is no such field.', {
      param: pathOf([...issue.path, issue.keys[0] ?? '']),
    });
  const { message, missing } = describeIssue(issue, value);
  const param = pathOf(issue.path) || what || null;
  throw new AdminError(missing ? 'missing_parameter' : 'invalid_value', message, { param });
}

/** `limits[0].window`, bounded. */
function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '').slice(0, 128);
}

function numbers(query: unknown): unknown {
  const read: Record<string, unknown> = { ...(query as object | null) };
  for (const key of NUMBERS) {
    const value = read[key];
    if (typeof value === 'string' && /^\d{1,9}$/.test(value)) read[key] = Number(value);
  }
  return read;
}

function readIfMatch(route: AdminRoute, header: string | undefined): readonly number[] | 'any' | null {
  if (route.ifMatch === undefined) return null;
  if (header === undefined) {
    if (route.ifMatch === 'optional') return null;
    throw new AdminError('precondition_required', 'Send If-Match with the ETag that you read, or *.', {
      param: 'If-Match',
    });
  }
  if (header.trim() === '*') return 'any';
  const tags = header.split(',').map((tag) => /^\s*"(\d{1,15})"\s*$/.exec(tag)?.[1]);
  // A tag that we never gave cannot match (RFC 9110, 13.1.1): no fault of form, but no match either.
  return tags.flatMap((tag) => (tag === undefined ? [] : [Number(tag)]));
}
