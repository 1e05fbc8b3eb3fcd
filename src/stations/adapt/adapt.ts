import type { RequestContext } from '../../core/context.ts';
import type { BackendDialect, EncodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { AttemptRequest, Watch } from '../../core/exchange.ts';
import type { HeaderPair, RequestHead, ResponseHead } from '../../core/http.ts';
import type { Backend } from '../../core/snapshot.ts';
import type { Attempt, Station } from '../../core/station.ts';
import { upstreamPairs } from '../../core/upstream-headers.ts';
import { upstreamRequest } from '../../core/upstream-request.ts';
import { headersToRemove } from './attempt-headers.ts';

export interface AdaptOptions {
  /** The backend dialects by name. */
  readonly dialects: ReadonlyMap<string, BackendDialect>;
}

type AnswerIdentity = NonNullable<EncodeContext['answer']>;

/** The station, and what the flow asks of it beside the common moments. */
export interface Adapt {
  readonly station: Station<RequestContext>;
  /** The request of one try, built from the client's original bytes. Throws `GatewayError`. */
  readonly request: (ctx: RequestContext, attempt: Attempt, head: RequestHead, watch: Watch) => AttemptRequest;
  /** What an answer says of itself where its backend does not. */
  readonly identity: (ctx: RequestContext, attempt: Attempt) => AnswerIdentity;
  /** Reads the answer of one try. */
  readonly decoder: (ctx: RequestContext, attempt: Attempt, head: ResponseHead) => ResponseDecoder;
}

/** Translates per attempt: the client's dialect to the backend's, and back. */
export function createAdapt({ dialects }: AdaptOptions): Adapt {
  const dialectOf = (backend: Backend): BackendDialect => {
    const dialect = dialects.get(backend.dialect);
    if (dialect === undefined) throw new GatewayError('internal_error', 'This deployment speaks an unknown dialect.');
    return dialect;
  };

  return {
    station: {
      name: 'adapt',
      attempt: (_ctx, attempt) => {
        const { deployment } = attempt.candidate;
        return {
          decision: `openai→${deployment.backend.dialect}`,
          reason: `attempt ${attempt.number}: ${deployment.upstreamModel} on ${deployment.backend.name}`,
        };
      },
    },
    request(ctx, attempt, head, watch) {
      const { deployment } = attempt.candidate;
      const upstream = dialectOf(deployment.backend).encode(upstreamRequest(ctx), deployment);
      const set = upstreamHeaders(deployment.backend, upstream.path, upstream.headers);
      return {
        kind: 'replace',
        mutation: {
          set,
          remove: headersToRemove(ctx.config, head, set),
          metadata: { 'tokenlat.attempt': { content_length: String(upstream.body.length) } },
        },
        body: upstream.body,
        watch,
      };
    },
    identity: identityOf,
    decoder(ctx, attempt, head) {
      const { deployment } = attempt.candidate;
      const { id, created, model } = identityOf(ctx, attempt);
      return dialectOf(deployment.backend).decoder(head, {
        request: upstreamRequest(ctx),
        deployment,
        modelShown: model,
        answerId: id,
        created,
        maxEventBytes: ctx.config.limits.eventBytes,
        maxAnswerBytes: ctx.config.limits.responseBytes,
      });
    },
  };
}

function identityOf(ctx: RequestContext, attempt: Attempt): AnswerIdentity {
  return {
    endpoint: ctx.endpoint,
    id: `${ctx.endpoint === 'completions' ? 'cmpl' : 'chatcmpl'}-${ctx.id.replace('-', '')}`,
    created: Math.floor(ctx.time / 1000),
    model: modelShown(ctx, attempt),
  };
}

function modelShown(ctx: RequestContext, attempt: Attempt): string {
  const { deployment } = attempt.candidate;
  switch (ctx.config.responses.model) {
    case 'requested':
      return ctx.request.model;
    case 'served':
      return deployment.model;
    case 'upstream':
      return deployment.upstreamModel;
  }
}

interface Head {
  readonly path: string;
  readonly own: readonly HeaderPair[];
  readonly set: readonly HeaderPair[];
}

/** The head last made for a backend: nearly every try at it has the same. */
const lastHeads = new WeakMap<Backend, Head>();

function upstreamHeaders(backend: Backend, path: string, own: readonly HeaderPair[]): readonly HeaderPair[] {
  const last = lastHeads.get(backend);
  if (last !== undefined && last.path === path && samePairs(last.own, own)) return last.set;
  const set = upstreamPairs(backend, path, own);
  lastHeads.set(backend, { path, own, set });
  return set;
}

function samePairs(left: readonly HeaderPair[], right: readonly HeaderPair[]): boolean {
  return (
    left.length === right.length &&
    left.every(([name, value], at) => {
      const pair = right[at];
      return pair?.[0] === name && pair[1] === value;
    })
  );
}
