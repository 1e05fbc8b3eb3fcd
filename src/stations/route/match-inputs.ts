import { CREDENTIAL_HEADERS } from '../../core/credential-headers.ts';
import type { Arrived, Authenticated, Received, Scheduled, Sheltered } from '../../core/context.ts';
import type { HeaderList } from '../../core/http.ts';
import { requestTypeOf } from '../../core/request-type.ts';
import { isObject, type Json, memberOf } from '../../core/json.ts';
import { REQUEST_FIELDS, TENANT_FIELDS } from './match-fields.ts';
import type { RequestField, TenantField } from './match-fields.ts';
import type { MatchVariables, References } from './compile-match.ts';

/** What rules look at. Before anything is reserved, nobody knows what is left. */
export type RuleContext = Arrived & Authenticated & Received & Partial<Scheduled>;

/** What routing looks at. */
export type RouteContext = RuleContext & Sheltered & Scheduled;

/** Content parts of chat and of responses that hold an image. */
const IMAGE_PARTS: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);

type Fields<Name extends string> = Readonly<Record<Name, (ctx: RuleContext) => string | boolean | bigint>>;

function listOf(ctx: RuleContext, name: string): readonly Json[] {
  const value = memberOf(ctx.request.json, name);
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function header(ctx: RuleContext, name: string): string {
  return ctx.head.headers.get(name) ?? '';
}

function hasImages(ctx: RuleContext): boolean {
  const contents = listOf(ctx, 'messages').flatMap((message) =>
    isObject(message) ? memberOf(message, 'content') : [],
  );
  return contents.some((part) => isObject(part) && IMAGE_PARTS.has(memberOf(part, 'type')));
}

/** All text of the last message; of other endpoints the last text. */
function lastMessage(ctx: RuleContext): string {
  const { texts } = ctx.request;
  const last = `messages[${listOf(ctx, 'messages').length - 1}].`;
  const parts = texts.filter((part) => part.param.startsWith(last));
  return parts.length > 0 ? parts.map((part) => part.text).join('\n') : (texts.at(-1)?.text ?? '');
}

function remainingToday(ctx: RuleContext): bigint {
  if (ctx.admission?.kind !== 'held') return -1n;
  const daily = ctx.admission.limits.filter(
    ({ line }) => line.unit === 'tokens' && line.window.kind === 'calendar' && line.window.unit === 'day',
  );
  return daily.length === 0 ? -1n : BigInt(Math.floor(Math.min(...daily.map((state) => state.remaining))));
}

const REQUEST: Fields<RequestField> = {
  model: (ctx) => ctx.request.model,
  type: (ctx) => requestTypeOf(ctx),
  stream: (ctx) => ctx.request.stream,
  n: (ctx) => BigInt(ctx.request.n),
  max_tokens: (ctx) => BigInt(ctx.request.maxOutputTokens ?? -1),
  user: (ctx) => {
    const user = memberOf(ctx.request.json, 'user');
    return typeof user === 'string' ? user : '';
  },
  path: (ctx) => ctx.head.path.split('?', 1)[0] ?? '',
  app_id: (ctx) => header(ctx, 'x-app-id'),
  user_level: (ctx) => header(ctx, 'x-user-level'),
  region: (ctx) => header(ctx, 'x-request-region'),
  business_line: (ctx) => header(ctx, 'x-business-line') || ctx.principal.businessLine,
  session_id: (ctx) => header(ctx, 'x-session-id'),
  has_tools: (ctx) => listOf(ctx, 'tools').length > 0 || listOf(ctx, 'functions').length > 0,
  has_images: hasImages,
  prompt_tokens: (ctx) => BigInt(Math.round(ctx.request.promptTokens)),
  last_message: lastMessage,
  messages_count: (ctx) => BigInt(listOf(ctx, 'messages').length),
  enable_rag: (ctx) => ['true', '1'].includes(header(ctx, 'x-enable-rag').toLowerCase()),
};

const TENANT: Fields<TenantField> = {
  name: (ctx) => ctx.principal.tenant,
  tier: (ctx) => ctx.principal.tier,
  business_line: (ctx) => ctx.principal.businessLine,
  tokens_remaining_today: remainingToday,
};

function namesOf<Name extends string>(
  fields: Record<Name, string>,
  read: ReadonlySet<string> | 'all',
): readonly Name[] {
  const names = Object.keys(fields) as Name[];
  return read === 'all' ? names : names.filter((name) => read.has(name));
}

function pick<Name extends string>(
  names: readonly Name[],
  fields: Fields<Name>,
  ctx: RuleContext,
): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) picked[name] = fields[name](ctx);
  return picked;
}

/** Values of one header are joined as HTTP allows (RFC 9110 section 5.3). */
function pickHeaders(headers: HeaderList, read: ReadonlySet<string> | 'all'): Record<string, unknown> {
  const names = read === 'all' ? new Set(headers.names()) : read;
  const picked = Object.create(null) as Record<string, unknown>;
  for (const name of names) {
    // A rule could be used to guess secrets.
    const values = CREDENTIAL_HEADERS.has(name) ? [] : headers.all(name);
    if (values.length > 0) picked[name] = values.join(', ');
  }
  return picked;
}

function pickClaims(
  claims: Readonly<Record<string, unknown>>,
  read: ReadonlySet<string> | 'all',
): Record<string, unknown> {
  const names = read === 'all' ? Object.keys(claims) : [...read].filter((name) => Object.hasOwn(claims, name));
  const picked = Object.create(null) as Record<string, unknown>;
  for (const name of names) picked[name] = claims[name];
  return picked;
}

/** The values that rules with these references read: those and no others, so that they may serve as the key of a cache. */
export function inputReader(references: References): (ctx: RuleContext) => MatchVariables {
  const ofRequest = namesOf<RequestField>(REQUEST_FIELDS, references.request);
  const ofTenant = namesOf<TenantField>(TENANT_FIELDS, references.tenant);
  return (ctx) => ({
    request: pick(ofRequest, REQUEST, ctx),
    tenant: pick(ofTenant, TENANT, ctx),
    claims: pickClaims(ctx.principal.claims, references.claims),
    headers: pickHeaders(ctx.head.headers, references.headers),
  });
}
