import type { ExplainAsk, Explained } from '../admin/admin-deps.ts';
import { CLASS_HEADER } from '../core/classifier.ts';
import type { RequestContext } from '../core/context.ts';
import { GatewayError } from '../core/error.ts';
import { HeaderList, type HeaderPair } from '../core/http.ts';
import { NobodyLeft } from '../core/nobody-left.ts';
import type { Clock } from '../core/ports/clock.ts';
import { nameOf } from '../core/places.ts';
import type { SurgeView } from '../core/ports/surge.ts';
import type { Route, Snapshot } from '../core/snapshot.ts';
import { Trail } from '../core/trail.ts';
import type { RouteContext } from '../stations/route/match-inputs.ts';
import type { RouteStation } from '../stations/route/route.ts';
import { surgeRules } from '../stations/schedule/surge-guard.ts';

export interface ExplainRouteOptions {
  readonly station: Pick<RouteStation, 'preview'>;
  readonly config: () => Snapshot;
  readonly clock: Clock;
  /** The load now: it may divert the request. */
  readonly surge: Pick<SurgeView, 'level'>;
}

const PATHS = { chat: '/v1/chat/completions', completions: '/v1/completions', embeddings: '/v1/embeddings' } as const;

/** What the route station would decide now on a request of that shape, or what it would be refused with. */
export function createExplainRoute({
  station,
  config,
  clock,
  surge,
}: ExplainRouteOptions): (ask: ExplainAsk) => Explained {
  return (ask) => {
    try {
      const { decision, words } = station.preview(contextOf(ask, config(), { clock, level: surge.level() }));
      return {
        route: decision.route.id,
        reason: decision.reason,
        fallbackReason: decision.fallbackReason,
        classified: decision.classified,
        plan: decision.candidates.map(nameOf),
        words: [words, classNote(ask.class, decision.route)].filter((each) => each !== null).join('; '),
        candidates: decision.judged(),
        refused: null,
      };
    } catch (reason) {
      const { code, status, message } = GatewayError.from(reason);
      if (code === 'internal_error') throw reason;
      const candidates = reason instanceof NobodyLeft ? reason.judged() : [];
      return { ...NOTHING, candidates, refused: { code, status, message } };
    }
  };
}

/** Why the class that was asked for did not count; null where it did, or none was. */
function classNote(asked: string | null, { classifier }: Route): string | null {
  if (asked === null || (classifier?.trustsHeader === true && classifier.classes.has(asked))) return null;
  if (classifier === null) return `class ${asked} does not count: the route has no classifier`;
  const { name, classes } = classifier;
  if (!classes.has(asked)) return `class ${asked} does not count: ${name} has only ${[...classes].join(', ')}`;
  return `class ${asked} does not count: ${name} does not take the client's word (header: true)`;
}

const NOTHING = {
  route: null,
  reason: null,
  fallbackReason: null,
  classified: null,
  plan: [],
  words: '',
  candidates: [],
} as const;

/** As much of a request as routing reads. Nothing is reserved for it. */
function contextOf(
  ask: ExplainAsk,
  config: Snapshot,
  { clock, level }: { readonly clock: Clock; readonly level: number },
): RouteContext {
  const { tier, businessLine } = config.tenants.get(ask.tenant) ?? config.tenantDefaults;
  const headers: HeaderPair[] = [];
  if (ask.type !== null) headers.push(['x-request-type', ask.type]);
  if (ask.class !== null) headers.push([CLASS_HEADER, ask.class]);
  if (ask.session !== null) headers.push(['x-session-id', ask.session]);
  const messages = [{ role: 'user', content: ask.prompt ?? '' }];
  const request: RequestContext['request'] = {
    endpoint: ask.endpoint,
    raw: Buffer.alloc(0),
    json: { model: ask.model, messages, stream: ask.stream },
    spans: new Map(),
    model: ask.model,
    stream: ask.stream,
    includeUsage: false,
    maxOutputTokens: ask.maxTokens,
    n: 1,
    texts: ask.prompt === null ? [] : [{ param: 'messages[0].content', role: 'user', text: ask.prompt }],
    promptTokens: ask.promptTokens,
  };
  const now = clock.now();
  const rules = surgeRules(config, ask.tier ?? tier, level);
  const ctx: Omit<RouteContext, 'dialect' | 'operation'> = {
    id: '' as RouteContext['id'],
    shownId: '',
    head: { method: 'POST', path: PATHS[ask.endpoint], headers: new HeaderList(headers) },
    endpoint: ask.endpoint,
    config,
    startedAt: now,
    deadline: now + (ask.timeoutMs ?? config.timeouts.requestMs),
    time: clock.time(),
    signal: new AbortController().signal,
    trail: new Trail(),
    principal: {
      subject: '',
      tenant: ask.tenant,
      tier: ask.tier ?? tier,
      businessLine: ask.businessLine ?? businessLine,
      scopes: new Set(ask.scopes),
      models: ['*'],
      credential: '',
      limits: [],
      keyId: null,
      tags: {},
      claims: {},
    },
    request,
    surge:
      rules === undefined
        ? undefined
        : { level, divert: rules.divert, reduced: null, buffered: rules.bufferStreams && ask.stream },
    admission: { kind: 'unbooked', reason: 'a preview', mayHold: false },
  };
  // Routing reads neither: they are of requests that are answered and booked.
  return ctx as RouteContext;
}
